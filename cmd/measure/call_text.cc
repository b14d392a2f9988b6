// SPDX-License-Identifier: MIT
#include "cmd/measure/call_text.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "cmd/target/event_definition.h"
#include "event/function_event.h"
#include "output/format_args_text.h"
#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

bool is_text(const EventField& field) { return field.type.starts_with("__data_loc char["); }

// The bits of a scalar, as wide as they are; 0 where the record ends before them.
uint64_t bits_at(std::span<const uint8_t> record, uint32_t offset, uint32_t size) {
  uint64_t bits = 0;
  if (size == 0 || size > sizeof bits) return 0;
  if (record.size() < size || offset > record.size() - size) return 0;
  std::memcpy(&bits, record.data() + offset, size);
  return bits;
}

int64_t extended(uint64_t bits, uint32_t size) {
  const unsigned unused = 64 - 8 * std::clamp(size, 1u, 8u);
  return int64_t(bits << unused) >> unused;
}

// What a field `__data_loc char[]` names; nothing when it is not inside the record.
std::optional<std::string_view> text_at(std::span<const uint8_t> record, uint32_t offset) {
  if (record.size() < 4 || offset > record.size() - 4) return std::nullopt;
  const uint32_t where = load<uint32_t>(record.data() + offset);
  const size_t begin = where & 0xffff, length = where >> 16;
  if (length == 0 || begin > record.size() || length > record.size() - begin) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(record.data()) + begin, length);
}

ObjectContext about_thread(int32_t tid, const CallTextContext& context) {
  ObjectContext about{context.addresses};
  if (context.can_read)
    about.can_read = [tid, &context](uint64_t address) { return context.can_read(tid, address); };
  return about;
}

void append_hexadecimal(std::string* out, uint64_t value) {
  *out += "0x";
  put_hex(out, value);
}

uint32_t offset_of(const EventCall& call, std::string_view field) {
  const EventField* found = call.find(field);
  return found && found->size == 8 ? found->offset : ~0u;
}

}  // namespace

void append_quoted(std::string* out, std::string_view text) {
  *out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find_first_of("\"\\", at), text.size());
    append_escaped(out, text.substr(at, next - at));
    if (next < text.size()) *out += {'\\', text[next]};
    at = next + 1;
  }
  *out += '"';
}

namespace {

void append_character(std::string* out, char c) {
  std::string text;
  append_quoted(&text, {&c, 1});
  *out += c == '"' ? "'\"'" : c == '\'' ? "'\\''" : "'" + text.substr(1, text.size() - 2) + "'";
}

// A variable of the program has its name.
void append_pointer(std::string* out, uint64_t address, const CallTextContext& context) {
  if (address == 0) {
    *out += "NULL";
    return;
  }
  const AddressText::Entry* const known =
      context.addresses ? &context.addresses->of(address) : nullptr;
  if (!known || !known->is_variable) return append_hexadecimal(out, address);
  *out += '&';
  *out += known->offset.ends_with("+0x0") ? known->plain : known->offset;
}

}  // namespace

void put_milliseconds(std::string* out, uint64_t ns) {
  constexpr uint64_t kShort = 10'000;
  char text[40];
  char* at = text;
  if (ns < kShort) {
    *at++ = '0';
    *at++ = '.';
    at = put_digits(at, ns, 6);
  } else {
    const uint64_t us = ns / 1000 + (ns % 1000 >= 500);
    at = put_digits(at, us / 1000, count_digits(us / 1000));
    *at++ = '.';
    at = put_digits(at, us % 1000, 3);
  }
  std::memcpy(at, " ms", 3);
  out->append(text, size_t(at + 3 - text));
}

CallText::Kind CallText::kind_of(const EventField& field, bool has_types) {
  if (is_format_args(field)) return Kind::kFormatArgs;
  if (is_text(field)) return Kind::kText;
  std::string_view type = field.type;
  const bool is_unsigned = type.starts_with("unsigned ");
  if (is_unsigned) type.remove_prefix(9);
  if (type == "symbol") return Kind::kSymbol;
  if (type == "float") return Kind::kFloat;
  if (type == "double") return Kind::kDouble;
  if (field.size == 16 && !field.array_len)
    return type == "float80" ? Kind::kLongDouble : Kind::kWide;
  if (type == "char" && !is_unsigned) return Kind::kChar;
  const bool is_hex = type.size() >= 2 && type[0] == 'x' && type[1] >= '1' && type[1] <= '9';
  if (is_hex) return has_types && type == "x64" ? Kind::kPointer : Kind::kHex;
  // Words of flags are read digit by digit.
  if (has_types && field.name.find("flag") != field.name.npos) return Kind::kHex;
  return field.is_signed ? Kind::kSigned : Kind::kUnsigned;
}

bool CallText::is_integer(Kind kind) {
  return kind == Kind::kSigned || kind == Kind::kUnsigned || kind == Kind::kHex;
}

void CallText::add_condition(const EventField& field, const EventCall& entry,
                             const FunctionValueNames& names, Value* value) {
  for (const ArgumentCondition& one : names.conditions) {
    const EventField* const of = entry.find(one.of);
    if (one.argument != field.name || !of || of->array_len || is_text(*of)) continue;
    value->condition = std::make_shared<const ArgumentCondition>(one);
    value->condition_offset = of->offset;
    value->condition_size = of->size;
  }
}

bool CallText::is_passed(const Value& value, std::span<const uint8_t> record) {
  if (!value.condition) return true;
  const uint64_t bits = bits_at(record, value.condition_offset, value.condition_size);
  const auto& values = value.condition->values;
  return (bits & value.condition->mask) != 0 ||
         std::find(values.begin(), values.end(), bits) != values.end();
}

// printf("hello") has nothing behind its format.
bool CallText::is_empty(const Value& value, std::span<const uint8_t> record) {
  if (value.kind != Kind::kFormatArgs) return false;
  const std::optional<std::string_view> text = text_at(record, value.offset);
  return text && text->substr(0, text->find('\0')).empty();
}

// The first field of an object stands for it, the others are its parts.
bool CallText::take_object(const EventField& field, const EventCall& entry,
                           const ObjectArguments& objects) {
  for (const ObjectArgument& object : objects) {
    const auto& fields = object.fields;
    if (std::find(fields.begin(), fields.end(), field.name) == fields.end()) continue;
    if (object.is_result) return true;
    // The order in which the fields stand is not that of the names.
    const auto is_first = [&] {
      for (const EventField& other : entry.fields)
        if (std::find(fields.begin(), fields.end(), other.name) != fields.end())
          return &other == &field;
      return false;
    };
    std::optional<ObjectText> text = ObjectText::make(object.form, entry);
    if (!text) return false;
    if (!is_first()) return true;
    Value value{Kind::kObject};
    value.object = objects_.size();
    objects_.push_back(std::move(*text));
    arguments_.push_back(std::move(value));
    return true;
  }
  return false;
}

// Members of a structure keep their names.
constexpr std::string_view kMemberOfResult = "__ret_";

// By its print fmt: behind the list stand the result, errno and the duration.
std::pair<EventCall, EventCall> split_whole_call(const EventCall& whole) {
  const std::string_view format = whole.print_fmt;
  const size_t open = std::min(format.find('('), format.size());
  const size_t close = std::min(format.find(')', open), format.size());
  const auto nr_arguments =
      size_t(std::count(format.begin() + ptrdiff_t(open), format.begin() + ptrdiff_t(close), '='));
  const size_t behind = std::min(2 + nr_arguments, whole.fields.size());
  EventCall entry = whole, returned = whole;
  entry.fields.resize(behind);
  returned.fields.erase(returned.fields.begin(), returned.fields.begin() + ptrdiff_t(behind));
  bool has_result = false;
  for (EventField& field : returned.fields) {
    if (field.name == kDurationField || field.name == kErrnoField) continue;
    if (field.name == kResultErrno)
      field.name = kErrnoField;
    else if (!std::exchange(has_result, true) && !field.name.starts_with(kMemberOfResult))
      field.name = is_text(field) ? "text" : "ret";
  }
  return {std::move(entry), std::move(returned)};
}

EventCall return_of_whole_call(const EventCall& whole) {
  auto [entry, returned] = split_whole_call(whole);
  for (EventField& field : entry.fields) {
    if (field.name == "__parent_ip") field.name = "__probe_ret_ip";
    returned.fields.push_back(std::move(field));
  }
  return std::move(returned);
}

// What is read through the address that the caller has given stands among the arguments.
bool CallText::take_result(const EventCall& entry, const EventCall& returned,
                           const ObjectArguments& objects) {
  for (const ObjectArgument& object : objects) {
    std::optional<ObjectText> text;
    if (object.is_result) text = ObjectText::make(object.form, returned);
    if (object.is_result && !text) text = ObjectText::make(object.form, entry);
    if (!text) continue;
    result_kind_ = Kind::kObject;
    result_ = {Kind::kObject};
    result_.object = objects_.size();
    objects_.push_back(std::move(*text));
    return true;
  }
  return false;
}

// Of arguments that are not read; in their order.
void CallText::add_marks(const EventCall& entry, const ObjectArguments& objects) {
  for (const ObjectArgument& object : objects) {
    if (!object.fields.empty()) continue;
    std::optional<ObjectText> text = ObjectText::make(object.form, entry);
    if (!text) continue;
    Value value{Kind::kObject};
    value.object = objects_.size();
    objects_.push_back(std::move(*text));
    const size_t at = std::min(object.index, arguments_.size());
    arguments_.insert(arguments_.begin() + std::ptrdiff_t(at), std::move(value));
  }
}

CallText::CallText(std::string name, const EventCall& entry, const EventCall* returned,
                   const std::string& result, bool has_types, const FunctionValueNames& names,
                   FailureSign failure, const ObjectArguments& objects)
    : name_(std::move(name)),
      has_return_(returned != nullptr),
      failure_(failure),
      entry_caller_(offset_of(entry, "__parent_ip")),
      entry_place_(offset_of(entry, "__ip")),
      entry_stack_(offset_of(entry, kStackPlaceField)) {
  append_escaped(&shown_name_, name_);
  shown_name_ += '(';
  for (const EventField& field : entry.fields) {
    if (field.name == "__parent_ip" || field.name == "__ip") continue;
    if (field.name == kStackPlaceField) continue;
    if (take_object(field, entry, objects)) continue;
    const std::string_view field_name = field.name;
    if (field_name.ends_with(kAddressSuffix)) {
      const EventField* text =
          entry.find(field_name.substr(0, field_name.size() - kAddressSuffix.size()));
      if (text && is_text(*text)) continue;
    }
    Value value{kind_of(field, has_types), field.offset, field.size, field.array_len};
    if (field.array_len) value.size = field.size / field.array_len;
    if (value.kind == Kind::kText)
      if (const EventField* address = entry.find(field.name + std::string(kAddressSuffix)))
        value.address = address->offset;
    value.may_be_fault = true;
    if (is_integer(value.kind)) value.names = names.of(field.name);
    const auto is_this = [&](const std::string& name) { return name == field.name; };
    if (is_integer(value.kind) && std::any_of(names.octal.begin(), names.octal.end(), is_this))
      value.kind = Kind::kOctal;
    add_condition(field, entry, names, &value);
    arguments_.push_back(std::move(value));
  }
  add_marks(entry, objects);
  if (result == "void") result_kind_ = Kind::kVoid;
  const EventField* value = returned ? returned->find("ret") : nullptr;
  if (returned) return_caller_ = offset_of(*returned, "__probe_ret_ip");
  if (returned) duration_ = offset_of(*returned, kDurationField);
  if (returned && take_result(entry, *returned, objects)) return;
  const EventField* alone =
      returned && !value && result == "string" ? returned->find("text") : nullptr;
  if (alone) {
    result_ = {Kind::kText, alone->offset, alone->size};
    result_kind_ = Kind::kText;
    return;
  }
  if (!value || result.empty() || result == "void") return;
  const EventField* error = returned->find("errno");
  if (error && error->size == sizeof(int)) errno_ = error->offset;
  const EventField* text = returned->find("text");
  result_ = {Kind::kUnsigned, value->offset, value->size};
  if (result == "float" || result == "double")
    result_.kind = result == "float" ? Kind::kFloat : Kind::kDouble;
  else if (result == "string" && text)
    result_ = {Kind::kText, text->offset, text->size, 0, value->offset};
  else if (result == "symbol")
    result_.kind = Kind::kSymbol;
  else if (result == "char")
    result_.kind = Kind::kChar;
  else if (result[0] == 'x' || result == "string")
    result_.kind = has_types ? Kind::kPointer : Kind::kHex;
  else if (value->is_signed)
    result_.kind = Kind::kSigned;
  if (value->size > 8) result_.kind = kind_of(*value, has_types);
  result_kind_ = result_.kind;
  if (is_integer(result_.kind)) result_.names = names.result;
}

uint64_t CallText::caller_of_entry(std::span<const uint8_t> record) const {
  return bits_at(record, entry_caller_, 8);
}

uint64_t CallText::place_of_entry(std::span<const uint8_t> record) const {
  return bits_at(record, entry_place_, 8);
}

uint64_t CallText::stack_of_entry(std::span<const uint8_t> record) const {
  return bits_at(record, entry_stack_, 8);
}

uint64_t CallText::caller_of_return(std::span<const uint8_t> record) const {
  return bits_at(record, return_caller_, 8);
}

uint64_t CallText::duration_of_whole(std::span<const uint8_t> record) const {
  return bits_at(record, duration_, 8);
}

void CallText::append_scalar(std::string* out, Kind kind, const uint8_t* at, uint32_t size,
                             const CallTextContext& context) {
  const uint64_t bits = bits_at({at, size}, 0, size);
  switch (kind) {
    case Kind::kSigned:
      return put_number(out, extended(bits, size));
    case Kind::kHex:
      return append_hexadecimal(out, bits);
    case Kind::kOctal:
      if (bits != 0) *out += '0';
      return put_number(out, bits, 8);
    case Kind::kPointer:
      return append_pointer(out, bits, context);
    case Kind::kSymbol:
      if (bits != 0 && context.addresses) return append_function(out, bits, context.addresses);
      return append_scalar(out, Kind::kPointer, at, size, context);
    case Kind::kChar:
      return append_character(out, char(bits));
    case Kind::kFloat:
      return size == 4 ? put_float(out, load<float>(at)) : append_hexadecimal(out, bits);
    case Kind::kLongDouble:
      return put_long_double(out, load<long double>(at));
    case Kind::kWide:
      *out += "0x";
      return put_wide(out, load<unsigned __int128>(at), false, 16);
    case Kind::kDouble:
      return size == 8 ? put_float(out, load<double>(at)) : append_hexadecimal(out, bits);
    default:
      return put_number(out, bits);
  }
}

void CallText::append_text(std::string* out, const Value& value, std::span<const uint8_t> record,
                           int32_t tid, const CallTextContext& context) {
  const std::optional<std::string_view> bytes = text_at(record, value.offset);
  const std::string_view text = bytes ? text_in(*bytes, true) : "";
  if (text.empty() && value.address) {
    const uint64_t address = bits_at(record, *value.address, 8);
    if (address == 0) {
      *out += "NULL";
      return;
    }
    // Of an entry, a text that could not be read is empty, too; of a return it has no bytes at all.
    const bool is_read =
        bytes && (!value.may_be_fault || (context.can_read && context.can_read(tid, address)));
    if (!is_read) return append_hexadecimal(out, address);
  }
  append_quoted(out, text);
  if (text.size() + 1 >= kMaxStringBytes) *out += "...";
}

void CallText::append(std::string* out, const Value& value, std::span<const uint8_t> record,
                      int32_t tid, const CallTextContext& context) {
  if (value.kind == Kind::kText) return append_text(out, value, record, tid, context);
  if (value.kind == Kind::kFormatArgs) {
    const std::string_view text = text_at(record, value.offset).value_or("?");
    return append_format_args(out, text.substr(0, text.find('\0')), true);
  }
  const uint32_t all = value.size * std::max(value.count, 1u);
  if (value.size == 0 || record.size() < all || value.offset > record.size() - all) {
    *out += "(cut)";
    return;
  }
  const uint8_t* at = record.data() + value.offset;
  if (value.names && value.count == 0) {
    const uint64_t bits = bits_at(record, value.offset, value.size);
    return append_escaped(out, value.names->text(bits, value.size, value.kind == Kind::kSigned));
  }
  if (value.count && value.kind == Kind::kChar) {
    const std::string_view text(reinterpret_cast<const char*>(at), value.count);
    return append_quoted(out, text.substr(0, text.find('\0')));
  }
  if (value.count) *out += '{';
  for (uint32_t i = 0; i < std::max(value.count, 1u); i++) {
    if (i) *out += ", ";
    append_scalar(out, value.kind, at + i * value.size, value.size, context);
  }
  if (value.count) *out += '}';
}

void CallText::append_call(std::string* out, std::span<const uint8_t> entry, int32_t tid,
                           const CallTextContext& context) const {
  *out += shown_name_;
  for (size_t i = 0; i < arguments_.size(); i++) {
    if (!is_passed(arguments_[i], entry) || is_empty(arguments_[i], entry)) continue;
    if (i) *out += ", ";
    if (arguments_[i].kind == Kind::kObject)
      objects_[arguments_[i].object].append(out, entry, about_thread(tid, context));
    else
      append(out, arguments_[i], entry, tid, context);
  }
  *out += ')';
}

void CallText::append_result(std::string* out, std::span<const uint8_t> returned, int32_t tid,
                             const CallTextContext& context) const {
  if (result_kind_ == Kind::kVoid) return;
  *out += " = ";
  if (result_kind_ == Kind::kNone) {
    *out += '?';
    return;
  }
  if (result_kind_ == Kind::kObject)
    return objects_[result_.object].append(out, returned, about_thread(tid, context));
  append(out, result_, returned, tid, context);
  if (failure_ != FailureSign::kUnknown && is_failure(returned)) append_error(out, returned);
}

// A number that no error has is the result alone: errno may be of another call.
void CallText::append_error(std::string* out, std::span<const uint8_t> returned) const {
  const bool is_result = failure_ == FailureSign::kResult;
  if (!is_result && errno_ == ~0u) return;
  const uint64_t number = is_result ? bits_at(returned, result_.offset, result_.size)
                                    : bits_at(returned, errno_, sizeof(int));
  const char* const error =
      number > 0 && number <= INT_MAX ? ::strerrorname_np(int(number)) : nullptr;
  if (error) *out += std::string(" ") + error;
}

bool CallText::is_failure(std::span<const uint8_t> returned) const {
  if (failure_ == FailureSign::kResult && result_kind_ == Kind::kSigned)
    return bits_at(returned, result_.offset, result_.size) != 0;
  const bool is_text = result_kind_ == Kind::kText;
  if (is_text && !result_.address) return false;
  const uint64_t bits =
      bits_at(returned, is_text ? *result_.address : result_.offset, is_text ? 8 : result_.size);
  if (is_text || result_kind_ == Kind::kPointer) return bits == 0 || bits == ~uint64_t{0};
  return result_kind_ == Kind::kSigned && extended(bits, result_.size) == -1;
}

}  // namespace patchbay::cmd
