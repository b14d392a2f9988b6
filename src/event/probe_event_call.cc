// SPDX-License-Identifier: MIT
// The fields and the print fmt of a probe event (docs/files.md, "Record and text of a probe"):
// packed, in the order given.
#include "event/probe_event.h"
#include "event/probe_event_argument.h"

namespace patchbay {

namespace {

bool is_text(const ProbeArgument& argument) {
  return argument.type->field_type.starts_with("__data_loc");
}

// The kernel's format files show arrays of numbers without their length, those of strings with it.
EventField field_of(const ProbeArgument& argument) {
  const uint32_t count = argument.array_len ? argument.array_len : 1;
  EventField field{.type = std::string(argument.type->field_type),
                   .name = argument.name,
                   .offset = argument.offset,
                   .size = argument.type->size * count,
                   .is_signed = argument.type->is_signed};
  if (!argument.array_len) return field;
  if (is_text(argument)) {
    field.type += "[" + std::to_string(argument.array_len) + "]";
  } else {
    field.array_len = argument.array_len;
    field.brackets = "[]";
  }
  return field;
}

void append_value(const ProbeArgument& argument, const std::string& index, std::string* values) {
  const std::string element = argument.name + index;
  if (argument.type == long_double_type()) {  // no reader has a number of so many bits
    *values += ", __print_hex_str(REC->" + element + ", 16)";
    return;
  }
  *values += is_text(argument) ? ", __get_str(" + element + ")" : ", REC->" + element;
}

[[gnu::cold]] void append_print(const ProbeArgument& argument, std::string* format,
                                std::string* values) {
  *format += " " + argument.name + "=";
  if (!argument.array_len) {
    *format += argument.type->format;
    return append_value(argument, "", values);
  }
  for (uint32_t i = 0; i < argument.array_len; i++) {
    *format += i ? "," : "{";
    *format += argument.type->format;
    append_value(argument, "[" + std::to_string(i) + "]", values);
  }
  *format += "}";
}

}  // namespace

[[gnu::cold]] EventCall make_probe_event_call(ProbeDefinition* definition) {
  EventCall call;
  call.system = definition->group;
  call.name = definition->event;
  call.common = common_fields();
  std::string format, values;
  uint32_t end = 8;
  auto add_address = [&call, &values, &end](const char* name) {
    call.fields.push_back({.type = "unsigned long", .name = name, .offset = end, .size = 8});
    values += ", REC->" + std::string(name);
    end += 8;
  };
  if (definition->kind == ProbeKind::kEprobe) {
    call.head = ProbeHead::kSource;
    call.shown_source = definition->source_group + "." + definition->source_event;
  } else if (definition->on_return) {
    format = "(%lx <- %lx)";
    add_address("__probe_func");
    add_address("__probe_ret_ip");
  } else {
    format = "(%lx)";
    add_address("__probe_ip");
  }
  if (definition->kind == ProbeKind::kUprobe) call.head = ProbeHead::kNumbers;
  for (ProbeArgument& argument : definition->arguments) {
    argument.offset = end;
    call.fields.push_back(field_of(argument));
    end += call.fields.back().size;
    append_print(argument, &format, &values);
  }
  call.print_fmt = "\"" + format + "\"" + values;
  return call;
}

}  // namespace patchbay
