// SPDX-License-Identifier: MIT
// What a synthetic event looks like: its line, its format file, its print fmt.
#include "event/synthetic_event.h"

namespace patchbay {

namespace {

using Kind = SyntheticField::Kind;

std::string_view conversion_of(const SyntheticField& field) {
  struct Row {
    std::string_view type, conversion;
  };
  static constexpr Row kRows[] = {{"s64", "%lld"},
                                  {"u64", "%llu"},
                                  {"s32", "%d"},
                                  {"u32", "%u"},
                                  {"s16", "%d"},
                                  {"u16", "%u"},
                                  {"s8", "%d"},
                                  {"u8", "%u"},
                                  {"char", "%d"},
                                  {"unsigned char", "%u"},
                                  {"int", "%d"},
                                  {"bool", "%d"},
                                  {"long", "%ld"},
                                  {"pid_t", "%d"},
                                  {"unsigned int", "%u"},
                                  {"gfp_t", "%x"},
                                  {"unsigned long", "%lu"},
                                  {"float", "%g"},
                                  {"double", "%g"}};
  for (const Row& row : kRows)
    if (row.type == field.type) return row.conversion;
  return "%s";  // texts and stacks
}

// libtraceevent reads a small number without its sign, and no cast gives it back. This is right for
// readers that take the sign, too.
std::string signed_argument(const SyntheticField& field) {
  const std::string bits = field.size == 1 ? "0xff" : "0xffff";
  const std::string sign = field.size == 1 ? "0x80" : "0x8000";
  return "((REC->" + field.name + " & " + bits + ") ^ " + sign + ") - " + sign;
}

std::string argument_of(const SyntheticField& field) {
  if (field.kind == Kind::kDynamicText) return "__get_str(" + field.name + ")";
  if (field.kind == Kind::kStack) return "__get_stacktrace(" + field.name + ")";
  const bool has_sign = field.is_signed && field.type != "bool";
  if (field.kind == Kind::kNumber && has_sign && field.size < 4) return signed_argument(field);
  return "REC->" + field.name;
}

std::string print_fmt_of(const SyntheticDefinition& definition) {
  std::string format = "\"", arguments;
  for (const SyntheticField& field : definition.fields) {
    if (format.size() > 1) format += ", ";
    format += field.name + "=";
    format += conversion_of(field);
    arguments += ", " + argument_of(field);
  }
  return format + "\"" + arguments;
}

EventField event_field(const SyntheticField& field) {
  EventField made;
  made.type = field.type;
  made.name = field.name;
  made.offset = field.offset;
  made.size = field.size;
  made.is_signed = field.is_signed;
  if (field.kind == Kind::kText) {
    made.type = field.type.substr(0, field.type.find('['));
    made.array_len = field.size;
    made.brackets = "[]";
  } else if (field.kind != Kind::kNumber) {
    made.type = "__data_loc " + field.type;
  }
  return made;
}

}  // namespace

std::string SyntheticDefinition::show() const {
  std::string text = name + "\t";
  for (const SyntheticField& field : fields) {
    if (&field != &fields[0]) text += "; ";
    text += field.type + " " + field.name;
  }
  return text;
}

uint32_t SyntheticDefinition::fixed_size() const {
  const SyntheticField& last = fields.back();
  return last.offset + (last.kind == Kind::kText ? kSyntheticTextSize : 8);
}

uint32_t SyntheticDefinition::max_size() const {
  uint32_t size = fixed_size();
  for (const SyntheticField& field : fields) {
    if (field.kind == Kind::kDynamicText) size += kSyntheticTextSize;
    if (field.kind == Kind::kStack) size += 8 * (kSyntheticStackDepth + 1);
  }
  return size;
}

[[gnu::cold]] EventCall make_synthetic_event_call(const SyntheticDefinition& definition) {
  EventCall call;
  call.system = kSyntheticSystem;
  call.name = definition.name;
  call.common = common_fields();
  for (const SyntheticField& field : definition.fields) call.fields.push_back(event_field(field));
  call.print_fmt = print_fmt_of(definition);
  return call;
}

}  // namespace patchbay
