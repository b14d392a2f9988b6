// SPDX-License-Identifier: MIT
#include "export/export_schema.h"

#include <algorithm>
#include <cstring>

#include "base/unique_names.h"
#include "output/text_put.h"

namespace patchbay {
namespace {

using Type = ExportField::Type;
using Kind = ExportValue::Kind;

bool is_char(std::string_view type) {
  return type == "char" || type == "unsigned char" || type == "signed char" || type == "const char";
}

// The types as output/event_text.cc shows them.
Type type_of(const EventField& field, std::string_view type, bool of_function_event) {
  const bool is_unsigned = type.starts_with("unsigned ");
  const std::string_view base = is_unsigned ? type.substr(9) : type;
  if (base == "symbol") return Type::kSymbol;
  if (base == "float" || base == "double") return Type::kReal;
  if (is_char(type) && of_function_event) return Type::kChar;
  if (base.size() >= 2 && base[0] == 'x' && base[1] >= '1' && base[1] <= '9') return Type::kHex;
  if (type.ends_with("*") || (!of_function_event && base == "long" && is_unsigned))
    return Type::kHex;
  return field.is_signed ? Type::kSigned : Type::kUnsigned;
}

uint32_t dynamic_element_size(std::string_view type) {
  if (type.ends_with("64") || type.ends_with("long") || type == "symbol" || type == "double" ||
      type.ends_with("*"))
    return 8;
  if (type.ends_with("16") || type.ends_with("short")) return 2;
  return type.ends_with("8") || is_char(type) ? 1 : 4;
}

std::string_view up_to_nul(std::span<const uint8_t> bytes) {
  const void* end = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return {text, end ? size_t(static_cast<const char*>(end) - text) : bytes.size()};
}

ExportSchema::Role ftrace_role(std::string_view name) {
  using Role = ExportSchema::Role;
  if (name == "funcgraph_entry" || name == "funcgraph_retaddr_entry" ||
      name == "fgraph_retaddr_entry")
    return Role::kGraphEntry;
  if (name == "funcgraph_exit") return Role::kGraphExit;
  if (name == "function" || name == "func_repeats") return Role::kFunction;
  if (name == "kernel_stack" || name == "user_stack") return Role::kStack;
  const bool prints = name == "print" || name == "bprint" || name == "bputs" || name == "raw_data";
  return prints ? Role::kPrint : Role::kEvent;
}

ExportSchema::Role role_of(const EventCall& event) {
  using Role = ExportSchema::Role;
  if (event.system == "ftrace") return ftrace_role(event.name);
  if (event.system == "synthetic") return Role::kSynthetic;
  if (event.find("__probe_func") && event.find("__probe_ret_ip")) return Role::kProbeReturn;
  return event.find("__probe_ip") || is_function_event(event) ? Role::kProbeEntry : Role::kEvent;
}

}  // namespace

ExportField::ExportField(const EventField& field, bool of_function_event)
    : name(field.name),
      key(field.name),
      type_name(field.type),
      offset(field.offset),
      size(field.size) {
  is_caller = name == "__parent_ip" || name == "parent_ip" || name == "__probe_ret_ip";
  std::string_view of = field.type;
  const bool data_loc = of.starts_with("__data_loc "), rel_loc = of.starts_with("__rel_loc ");
  if (data_loc || rel_loc) {
    of = of.substr(of.find(' ') + 1);
    of = of.substr(0, of.find('['));
    place = data_loc ? Place::kDataLoc : Place::kRelLoc;
    type = is_char(of) ? Type::kText : type_of(field, of, of_function_event);
    is_counted = of_function_event && type == Type::kText;
    element_size = dynamic_element_size(of);
    count = type == Type::kText && size > 4 ? size / 4 : 1;
    is_array = type != Type::kText || count > 1;
    return;
  }
  const bool array = field.array_len || !field.brackets.empty() || field.size == 0;
  if (is_char(of) && array) {
    type = Type::kText;
    place = field.size ? Place::kFixed : Place::kRest;
    element_size = 1;
    return;
  }
  type = type_of(field, of, of_function_event);
  is_array = field.array_len != 0;
  count = field.array_len;
  element_size = field.array_len ? field.size / field.array_len : field.size;
  if (type == Type::kSymbol || of.ends_with("double")) element_size = 8;
  if (of.ends_with("float")) element_size = 4;
  if (field.size == 0) {  // up to the end: the words of a call's arguments
    is_array = true;
    place = Place::kRest;
    element_size = dynamic_element_size(of);
  } else if (element_size != 1 && element_size != 2 && element_size != 4 && element_size != 8) {
    is_array = true;  // a structure: its bytes
    count = field.size;
    element_size = 1;
    type = Type::kHex;
  }
}

ExportValue ExportField::scalar(const uint8_t* at) const {
  ExportValue made;
  std::memcpy(&made.bits, at, element_size);
  made.kind = Kind::kUnsigned;
  if (type == Type::kSigned) {
    const int unused = 64 - 8 * int(element_size);
    made.kind = Kind::kSigned;
    made.bits = uint64_t(int64_t(made.bits << unused) >> unused);
  } else if (type == Type::kReal) {
    made.kind = Kind::kReal;
    made.real = element_size == 4 ? double(load<float>(at)) : load<double>(at);
  } else if (type == Type::kChar) {
    made.kind = Kind::kText;
    made.text = up_to_nul({at, 1});
  }
  return made;
}

// The bytes that the u32 at this field names. False: they are not inside the record.
bool ExportField::dynamic(std::span<const uint8_t> record, uint32_t word,
                          std::span<const uint8_t>* out) const {
  const size_t at = size_t(offset) + size_t(word) * 4;
  if (record.size() < 4 || at > record.size() - 4) return false;
  const uint32_t where = load<uint32_t>(record.data() + at);
  const size_t begin = (where & 0xffff) + (place == Place::kRelLoc ? at + 4 : 0);
  const size_t length = where >> 16;
  if (begin > record.size() || length > record.size() - begin) return false;
  *out = record.subspan(begin, length);
  return true;
}

ExportValue ExportField::text_at(std::span<const uint8_t> record, uint32_t word) const {
  std::span<const uint8_t> bytes;
  if (!dynamic(record, word, &bytes)) return {};
  if (bytes.empty()) return {.kind = Kind::kFault};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {.kind = Kind::kText, .text = text_in(text, is_counted)};
}

ExportValue ExportField::value(std::span<const uint8_t> record) const {
  if (offset > record.size() || (known && !known->is_there(record))) return {};
  std::span<const uint8_t> bytes = record.subspan(offset);
  if (place == Place::kFixed && !is_array && type != Type::kText)
    return element_size <= bytes.size() ? scalar(bytes.data()) : ExportValue{};
  if (place == Place::kFixed) bytes = bytes.first(std::min<size_t>(size, bytes.size()));
  if (place == Place::kDataLoc || place == Place::kRelLoc) {
    if (type == Type::kText && count == 1) return text_at(record, 0);
    if (type == Type::kText) return {.kind = Kind::kArray, .count = count};
    if (!dynamic(record, 0, &bytes)) return {};
  }
  if (type == Type::kText) return {.kind = Kind::kText, .text = up_to_nul(bytes)};
  return {.kind = Kind::kArray, .bytes = bytes, .count = uint32_t(bytes.size() / element_size)};
}

ExportValue ExportField::element(std::span<const uint8_t> record, const ExportValue& array,
                                 uint32_t index) const {
  if (type == Type::kText) return text_at(record, index);
  return index < array.count ? scalar(array.bytes.data() + size_t(index) * element_size)
                             : ExportValue{};
}

ExportSchema::ExportSchema(const EventCall& event, uint32_t number)
    : index(number),
      role(role_of(event)),
      system(event.system),
      name(event.name),
      label(event.system + ":" + event.name),
      id(event.id),
      call(&event) {
  const bool of_functions = is_function_event(event);
  UniqueNames keys({}, "", UniqueNames::Case::kDiffers);
  for (const EventField& field : event.fields) {
    fields.emplace_back(field, of_functions);
    fields.back().key = keys.unique(field.name);
    fields.back().known = sdt_known(event, field.name);
  }
}

const ExportField* ExportSchema::find(std::string_view field_name) const {
  for (const ExportField& field : fields)
    if (field.name == field_name) return &field;
  return nullptr;
}

}  // namespace patchbay
