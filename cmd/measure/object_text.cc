// SPDX-License-Identifier: MIT
#include "cmd/measure/object_text.h"

#include <algorithm>
#include <cstring>

#include "cmd/measure/call_text.h"
#include "event/function_event.h"
#include "output/text_put.h"
#include "output/trace_line.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

using Kind = ObjectForm::Kind;
using Show = ObjectForm::Show;

constexpr int kMaxDepth = 8;
constexpr uint64_t kMost = uint64_t{1} << 47;  // bytes or elements: a process has no more room
constexpr char kUnreadable[] = "(unreadable)";

void put_address(std::string* out, uint64_t value) {
  *out += "0x";
  put_hex(out, value);
}

void append_more(std::string* out, uint64_t count) {
  *out += "… ";
  put_number(out, count);
  *out += " more";
}

void put_utf8(std::string* out, uint32_t character) {
  const auto rest = [&](int shift) { *out += char(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x80) {
    *out += char(character);
  } else if (character < 0x800) {
    *out += char(0xc0 | character >> 6);
    rest(0);
  } else if (character < 0x10000) {
    *out += char(0xe0 | character >> 12);
    rest(6), rest(0);
  } else if (character < 0x110000) {
    *out += char(0xf0 | character >> 18);
    rest(12), rest(6), rest(0);
  } else {
    *out += '\xff';
  }
}

// UTF-16 or UTF-32 in UTF-8. What is no character becomes bytes that are no UTF-8.
std::string utf8_of(std::span<const uint8_t> bytes, uint32_t size) {
  const auto at = [&](size_t i) {
    return size == 2 ? load<uint16_t>(&bytes[2 * i]) : load<uint32_t>(&bytes[4 * i]);
  };
  const size_t count = size == 2 || size == 4 ? bytes.size() / size : 0;
  std::string text;
  for (size_t i = 0; i < count; i++) {
    const uint32_t first = at(i), second = size == 2 && i + 1 < count ? at(i + 1) : 0;
    const bool is_pair = first >> 10 == 0xd800 >> 10 && second >> 10 == 0xdc00 >> 10;
    put_utf8(&text, is_pair ? 0x10000 + ((first & 0x3ff) << 10 | (second & 0x3ff)) : first);
    i += is_pair;
  }
  return text;
}

}  // namespace

void append_function(std::string* out, uint64_t address, AddressText* addresses) {
  const AddressText::Entry& found = addresses->of(address);
  *out += found.offset.ends_with("+0x0") ? found.plain : found.offset;
}

// --- the fields

bool ObjectText::find(const EventCall& call, const std::string& name, Field* field) {
  if (name.empty()) return true;
  const EventField* const found = call.find(name);
  if (!found || found->size == 0 || found->size > 16) return false;
  *field = {found->offset, found->size};
  return true;
}

bool ObjectText::find_all(const EventCall& call, int depth) {
  if (depth > kMaxDepth) return false;
  const ObjectForm& form = form_;
  bool has_all = find(call, form.field, &field_) && find(call, form.length, &length_) &&
                 find(call, form.begin, &begin_) && find(call, form.end, &end_) &&
                 find(call, form.address, &address_) && find(call, form.flag, &flag_) &&
                 find(call, form.there, &there_);
  for (const ObjectForm& part : form.parts) {
    ObjectText text;
    text.form_ = part;
    has_all = has_all && text.find_all(call, depth + 1);
    parts_.push_back(std::move(text));
  }
  form_.parts.clear();
  return has_all;
}

std::optional<ObjectText> ObjectText::make(const ObjectForm& form, const EventCall& call) {
  ObjectText text;
  text.form_ = form;
  if (!text.find_all(call, 0)) return std::nullopt;
  return text;
}

uint64_t ObjectText::number(Record record, Field field) {
  uint64_t bits = 0;
  const size_t size = std::min<size_t>(field.size, sizeof bits);
  if (record.size() >= size && field.offset <= record.size() - size)
    std::memcpy(&bits, record.data() + field.offset, size);
  return bits;
}

// What a __data_loc word names; nothing where the word is 0 or names what is not in the record.
std::optional<std::span<const uint8_t>> ObjectText::dynamic(Record record, Field field) {
  const uint64_t where = number(record, {field.offset, 4});
  const size_t begin = where & 0xffff, length = where >> 16;
  if (where == 0 || begin > record.size() || length > record.size() - begin) return std::nullopt;
  return record.subspan(begin, length);
}

bool ObjectText::can_be_read(Record record) const {
  return !there_.is_there() || dynamic(record, there_);
}

// How many elements or bytes there are. Nothing: a mark says why.
std::optional<uint64_t> ObjectText::total(Record record, std::string* out) const {
  const bool is_text = form_.kind == Kind::kText || form_.kind == Kind::kEitherText;
  const char* const unit = is_text ? " bytes" : " elements";
  uint64_t count = form_.count;
  if (length_.is_there()) count = number(record, length_);
  if (begin_.is_there() && end_.is_there()) {
    const uint64_t begin = number(record, begin_), end = number(record, end_);
    const uint64_t size = std::max(form_.size, 1u);
    if (end < begin || (end - begin) % size != 0) {
      *out += "(corrupt: from ";
      put_address(out, begin);
      *out += " to ";
      put_address(out, end);
      *out += ')';
      return std::nullopt;
    }
    count = (end - begin) / size;
  }
  if (count < kMost) return count;
  *out += "(corrupt: ";
  put_number(out, count);
  *out += unit;
  *out += ')';
  return std::nullopt;
}

// --- the kinds

void ObjectText::append_number(std::string* out, std::span<const uint8_t> bytes,
                               const Context& context) const {
  uint64_t bits = 0;
  if (bytes.size() == 16 && form_.show == Show::kFloat)
    return put_long_double(out, load<long double>(bytes.data()));
  if (bytes.size() == 16)
    return put_wide(out, load<unsigned __int128>(bytes.data()), form_.show == Show::kSigned, 10);
  const size_t size = std::min(bytes.size(), sizeof bits);
  std::memcpy(&bits, bytes.data(), size);
  const unsigned unused = size ? unsigned(64 - 8 * size) : 0;
  const int64_t extended = int64_t(bits << unused) >> unused;
  if (form_.names)
    return append_escaped(out,
                          form_.names->text(bits, uint32_t(size), form_.show == Show::kSigned));
  switch (form_.show) {
    case Show::kSigned:
      return put_number(out, extended);
    case Show::kHex:
      return put_address(out, bits);
    case Show::kBool:
      if (bits > 1) return put_number(out, bits);
      *out += bits ? "true" : "false";
      return;
    case Show::kChar: {
      std::string text;
      const char c = char(bits);
      append_quoted(&text, {&c, 1});
      *out += c == '"' ? "'\"'" : c == '\'' ? "'\\''" : "'" + text.substr(1, text.size() - 2) + "'";
      return;
    }
    case Show::kFloat:
      if (size == 4) return put_float(out, load<float>(bytes.data()));
      if (size == 8) return put_float(out, load<double>(bytes.data()));
      return put_address(out, bits);
    case Show::kPointer:
      if (bits) return put_address(out, bits);
      *out += "nullptr";
      return;
    case Show::kSymbol:
      if (bits && context.addresses) return append_function(out, bits, context.addresses);
      if (bits) return put_address(out, bits);
      *out += "nullptr";
      return;
    default:
      return put_number(out, bits);
  }
}

void ObjectText::append_scalar(std::string* out, Record record, const Context& context) const {
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  if (field_.offset > record.size() || field_.size > record.size() - field_.offset) {
    *out += "(cut)";
    return;
  }
  append_number(out, record.subspan(field_.offset, field_.size), context);
  append_escaped(out, form_.unit);
}

void ObjectText::append_text(std::string* out, Record record) const {
  const std::optional<uint64_t> bytes = total(record, out);
  if (!bytes) return;
  const auto text = dynamic(record, field_);
  if (!text || text->empty()) {
    *out += kUnreadable;
    return;
  }
  const std::string_view shown(reinterpret_cast<const char*>(text->data()), text->size() - 1);
  append_quoted(out, shown);
  if (*bytes > shown.size()) *out += "...";
}

void ObjectText::append_wide_text(std::string* out, Record record) const {
  const std::optional<uint64_t> count = total(record, out);
  if (!count) return;
  const auto characters = dynamic(record, field_);
  if (!characters) {
    *out += kUnreadable;
    return;
  }
  append_quoted(out, utf8_of(*characters, form_.size));
  if (*count > characters->size() / std::max(form_.size, 1u)) *out += "...";
}

// What is empty may be a text that could not be read.
void ObjectText::append_c_text(std::string* out, Record record, const Context& context) const {
  const auto bytes = dynamic(record, field_);
  const std::string_view all(bytes ? reinterpret_cast<const char*>(bytes->data()) : "",
                             bytes ? bytes->size() : 0);
  const std::string_view text = all.substr(0, all.find('\0'));
  const uint64_t address = number(record, address_);
  if (text.empty() && address_.is_there() && !address) {
    *out += "NULL";
    return;
  }
  const bool is_known = !text.empty() || (context.can_read && context.can_read(address));
  if (!is_known && address_.is_there()) return put_address(out, address);
  append_quoted(out, text);
  if (text.size() + 1 >= kMaxStringBytes) *out += "...";
}

void ObjectText::append_list(std::string* out, Record record, const Context& context) const {
  const bool has_total = length_.is_there() || end_.is_there() || form_.count;
  const std::optional<uint64_t> count = total(record, out);
  if (!count) return;
  const auto elements = dynamic(record, field_);
  const uint32_t size = std::max(form_.size, 1u);
  if (!elements) {
    *out += kUnreadable;
    return;
  }
  const uint64_t shown = elements->size() / size;
  *out += '[';
  for (uint64_t i = 0; i < shown; i++) {
    if (i) *out += ", ";
    append_number(out, elements->subspan(i * size, size), context);
  }
  if (!has_total || *count > shown) {
    if (shown) *out += ", ";
    if (has_total)
      append_more(out, *count - shown);
    else
      *out += "…";
  }
  *out += ']';
}

void ObjectText::append_parts(std::string* out, Record record, const Context& context) const {
  const std::optional<uint64_t> count = total(record, out);
  if (!count) return;
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  const uint64_t shown = std::min<uint64_t>(*count, parts_.size());
  *out += '[';
  for (uint64_t i = 0; i < shown; i++) {
    if (i) *out += ", ";
    parts_[i].append(out, record, context);
  }
  if (*count > shown) {
    if (shown) *out += ", ";
    append_more(out, *count - shown);
  }
  *out += ']';
}

void ObjectText::append_optional(std::string* out, Record record, const Context& context) const {
  const uint64_t word = number(record, flag_);
  const bool is_address = form_.show == ObjectForm::Show::kPointer, is_rust = form_.unit == "None";
  const uint64_t flag = is_address ? word != 0 : word >> std::min(form_.flag_bit, 63u) & 0xff;
  if (!can_be_read(record)) {
    *out += kUnreadable;
  } else if (flag > 1) {
    *out += "(corrupt)";
  } else if (!flag) {
    *out += is_rust ? "None" : "nullopt";
  } else if (!parts_.empty()) {
    if (is_rust) *out += "Some(";
    parts_[0].append(out, record, context);
    if (is_rust) *out += ')';
  }
}

void ObjectText::append_pointer(std::string* out, Record record, const Context& context) const {
  const uint64_t address = number(record, field_);
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  if (!address) {
    append_escaped(out, form_.unit.empty() ? "nullptr" : form_.unit);
    return;
  }
  std::string value;
  if (!parts_.empty()) parts_[0].append(&value, record, context);
  if (value.empty() || value.starts_with('(')) {
    put_address(out, address);
    if (!value.empty()) *out += ' ' + value;
    return;
  }
  *out += '&' + value;
}

void ObjectText::append_size(std::string* out, Record record) const {
  const uint64_t count = number(record, field_);
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  *out += count < kMost ? "{" : "(corrupt: ";
  if (count) put_number(out, count);
  if (count) *out += count == 1 ? " entry" : " entries";
  *out += count < kMost ? '}' : ')';
}

// A type of one source file has a '*' in front.
void ObjectText::append_type_name(std::string* out, Record record) const {
  const auto bytes = dynamic(record, field_);
  std::string_view name(bytes ? reinterpret_cast<const char*>(bytes->data()) : "",
                        bytes ? bytes->size() : 0);
  name = name.substr(0, name.find('\0'));
  if (name.empty() || name == "*") {
    *out += kUnreadable;
    return;
  }
  append_escaped(out, demangle_type(name));
}

void ObjectText::append_members(std::string* out, Record record, const Context& context) const {
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  const bool has_names = form_.kind == Kind::kMembers;
  *out += has_names ? '{' : '[';
  for (size_t i = 0; i < parts_.size(); i++) {
    if (i) *out += ", ";
    if (has_names && !parts_[i].form_.name.empty()) {
      append_escaped(out, parts_[i].form_.name);
      *out += '=';
    }
    parts_[i].append(out, record, context);
  }
  *out += has_names ? '}' : ']';
}

// A text that ends with a NUL, or where the array does.
void ObjectText::append_characters(std::string* out, Record record) const {
  std::string text;
  for (const ObjectText& part : parts_) text += char(number(record, part.field_));
  append_quoted(out, std::string_view(text).substr(0, text.find('\0')));
}

// The first byte is twice the length of a text that stands behind it; it is odd where the text is
// elsewhere.
void ObjectText::append_either_text(std::string* out, Record record) const {
  const auto bytes = dynamic(record, there_);
  if (!bytes || bytes->empty()) {
    *out += kUnreadable;
    return;
  }
  const size_t length = (*bytes)[0] / 2;
  if ((*bytes)[0] % 2) return append_text(out, record);
  if (length < bytes->size())
    return append_quoted(out, {reinterpret_cast<const char*>(bytes->data()) + 1, length});
  *out += "(corrupt: ";
  put_number(out, uint64_t{length});
  *out += " bytes)";
}

void ObjectText::append_variant(std::string* out, Record record, const Context& context) const {
  const uint64_t index = number(record, flag_),
                 none = flag_.size < 8 ? (1ul << 8 * flag_.size) - 1 : ~0ul;
  if (!can_be_read(record))
    *out += kUnreadable;
  else if (index < parts_.size())
    parts_[index].append(out, record, context);
  else
    *out += index == none ? "valueless" : "{…}";
}

// "std::_Function_handler<int (int), main::{lambda(int)#1}>::_M_invoke(…)" -> what stands behind
// the first ',' that is in no other brackets;
// "std::__1::__function::__func<main::$_0, …>::~__func()" -> what stands before it.
std::string_view target_in(std::string_view invoker) {
  const bool is_first = invoker.find("__func<") != invoker.npos;
  const size_t open = invoker.find('<');
  const size_t end = invoker.rfind(is_first ? ">::" : ">::_M_invoke");
  if (open == invoker.npos || end == invoker.npos || end < open) return "";
  int depth = 0;
  for (size_t i = open + 1; i < end; i++) {
    depth += invoker[i] == '<' || invoker[i] == '(' ? 1 : 0;
    depth -= invoker[i] == '>' || invoker[i] == ')' ? 1 : 0;
    if (invoker[i] != ',' || depth != 0) continue;
    if (is_first) return invoker.substr(open + 1, i - open - 1);
    const size_t begin = invoker[i + 1] == ' ' ? i + 2 : i + 1;
    return begin < end ? invoker.substr(begin, end - begin) : "";
  }
  return "";
}

void ObjectText::append_target(std::string* out, Record record, const Context& context) const {
  if (!can_be_read(record)) {
    *out += kUnreadable;
    return;
  }
  if (number(record, flag_) == 0) {
    *out += "nullptr";
    return;
  }
  const uint64_t kept = number(record, field_), invoker = number(record, address_);
  if (!context.addresses) return put_address(out, invoker);
  const std::string calls = context.addresses->of(invoker).plain;
  const std::string_view target = target_in(calls);
  // A pointer to a function is what it points to.
  const AddressText::Entry& pointed = context.addresses->of(kept);
  if (pointed.known && pointed.offset.ends_with("+0x0") && target.find("(*)") != target.npos)
    *out += pointed.plain;
  else if (!target.empty())
    *out += target;
  else
    *out += calls;
}

void ObjectText::append(std::string* out, Record record, const ObjectContext& context) const {
  switch (form_.kind) {
    case Kind::kScalar:
      return append_scalar(out, record, context);
    case Kind::kText:
      return append_text(out, record);
    case Kind::kWideText:
      return append_wide_text(out, record);
    case Kind::kList:
      return append_list(out, record, context);
    case Kind::kParts:
      return append_parts(out, record, context);
    case Kind::kOptional:
      return append_optional(out, record, context);
    case Kind::kPointer:
      return append_pointer(out, record, context);
    case Kind::kSize:
      return append_size(out, record);
    case Kind::kTypeName:
      return append_type_name(out, record);
    case Kind::kMembers:
    case Kind::kElements:
      return append_members(out, record, context);
    case Kind::kEitherText:
      return append_either_text(out, record);
    case Kind::kVariant:
      return append_variant(out, record, context);
    case Kind::kTarget:
      return append_target(out, record, context);
    case Kind::kCharacters:
      return append_characters(out, record);
    case Kind::kCText:
      return append_c_text(out, record, context);
    case Kind::kMark:
      append_escaped(out, form_.unit);
      return;
  }
}

}  // namespace patchbay::cmd
