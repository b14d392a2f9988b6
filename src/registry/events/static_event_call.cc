// SPDX-License-Identifier: MIT
#include "registry/events/static_event_call.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace patchbay {

namespace {

constexpr uint32_t kHeader = 8;

bool is_name(const char* text) {
  if (!text || !*text) return false;
  for (; *text; text++)
    if (!is_name_char(*text) && *text != '-') return false;
  return true;
}

bool is_text(const patchbay_field& field) {
  return std::string_view(field.type) == "char" && field.array_len != 0;
}

bool is_dynamic(const patchbay_field& field) {
  return std::string_view(field.type).starts_with("__data_loc ");
}

// Types are shown as the kernel writes them: a blank before the `*`, however the source has it.
std::string type_text(std::string_view type) {
  size_t stars = type.find_last_not_of('*') + 1;
  std::string text(type.substr(0, stars));
  if (stars > 0 && stars < type.size() && text.back() != ' ') text += ' ';
  return text.append(type.substr(stars));
}

// Behind the text that starts with the quote at `at`.
size_t skip_text(std::string_view text, size_t at) {
  for (at++; at < text.size() && text[at] != '"'; at++)
    if (text[at] == '\\') at++;
  return at < text.size() ? at + 1 : text.size();
}

std::string element_print(const std::string& data, const std::string& bytes, uint32_t count,
                          uint32_t element) {
  if (element != 1 && element != 2 && element != 4 && element != 8)
    return "__print_hex_str(" + data + ", " + bytes + ")";
  const std::string number =
      count ? std::to_string(count) : bytes + " / " + std::to_string(element);
  return "__print_array(" + data + ", " + number + ", " + std::to_string(element) + ")";
}

const char* number_conversion(const patchbay_field& field) {
  const std::string_view type = field.type;
  if (type.ends_with('*')) return "0x%lx";
  if (type == "float") return "%x";  // libtraceevent knows no better
  if (type == "double") return "%lx";
  if (field.size == 8) return field.is_signed ? "%ld" : "%lu";
  return field.is_signed ? "%d" : "%u";
}

// One field of the default format: its conversion, and the argument.
void add_default(const patchbay_field& field, std::string* format, std::string* arguments) {
  const std::string name = field.name;
  std::string conversion = "%s", argument = "REC->" + name;
  if (is_dynamic(field)) {
    const bool text = std::string_view(field.type) == "__data_loc char[]";
    argument = text ? "__get_str(" + name + ")"
                    : element_print("__get_dynamic_array(" + name + ")",
                                    "__get_dynamic_array_len(" + name + ")", 0, field.element_size);
  } else if (field.array_len && !is_text(field)) {
    argument =
        element_print(argument, std::to_string(field.size), field.array_len, field.element_size);
  } else if (!field.array_len) {
    const bool number = field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
    if (number) conversion = number_conversion(field);
    if (!number) argument = element_print(argument, std::to_string(field.size), 0, 0);
  }
  if (!format->empty()) *format += ' ';
  *format += name + "=" + conversion;
  *arguments += ", " + argument;
}

std::string default_print_fmt(const patchbay_event& event) {
  std::string format, arguments;
  for (uint32_t i = 0; i < event.nr_fields; i++) add_default(event.fields[i], &format, &arguments);
  return "\"" + format + "\"" + arguments;
}

// "a" "b", … -> "ab", …: what the preprocessor leaves of "a=%" PRIu64.
std::string joined_format(std::string_view text) {
  std::string joined;
  size_t at = 0, next = 0;
  while (next < text.size() && text[next] == '"') {
    at = skip_text(text, next);
    if (!joined.empty()) {
      joined.pop_back();
      next++;
    }
    joined += text.substr(next, at - next);
    next = text.find_first_not_of(' ', at);
  }
  joined += text.substr(at);
  return joined;
}

const patchbay_enum* find_enum(const patchbay_event& event, std::string_view word) {
  for (uint32_t i = 0; i < event.nr_enums; i++)
    if (word == event.enums[i].name) return &event.enums[i];
  return nullptr;
}

bool good_field(const patchbay_event& event, const patchbay_field& field) {
  if (!field.type || !*field.type || !is_name(field.name)) return false;
  return field.offset >= kHeader && field.size && field.offset <= event.fixed_size &&
         field.size <= event.fixed_size - field.offset;
}

}  // namespace

[[gnu::cold]] std::string static_print_fmt(const patchbay_event& event) {
  if (!event.print_fmt || !*event.print_fmt) return default_print_fmt(event);
  const std::string text = joined_format(event.print_fmt);
  if (!event.nr_enums) return text;
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      end = skip_text(text, at);
    } else if (is_name_char(text[at])) {
      while (end < text.size() && is_name_char(text[end])) end++;
      const patchbay_enum* number = find_enum(event, std::string_view(text).substr(at, end - at));
      if (number) {
        result += std::to_string(number->value);
        at = end;
        continue;
      }
    }
    result.append(text, at, end - at);
    at = end;
  }
  return result;
}

[[gnu::cold]] Result<EventCall> static_event_call(const patchbay_event& event) {
  if (event.abi != PATCHBAY_EVENT_ABI || !is_name(event.system) || !is_name(event.name))
    return user_error(EINVAL, "A static event has another version, or no name.");
  const std::string name = std::string(event.system) + ":" + event.name;
  if (event.fixed_size < kHeader || event.max_size < event.fixed_size ||
      event.max_size > PATCHBAY_MAX_RECORD)
    return user_error(EINVAL, "The sizes of the static event " + name + " are wrong.");
  EventCall call;
  call.system = event.system;
  call.name = event.name;
  call.common = common_fields();
  for (uint32_t i = 0; i < event.nr_fields; i++) {
    const patchbay_field& field = event.fields[i];
    if (!good_field(event, field))
      return user_error(
          EINVAL, "Field " + std::to_string(i + 1) + " of the static event " + name + " is wrong.");
    call.fields.push_back({type_text(field.type),
                           field.name,
                           field.offset,
                           field.size,
                           field.is_signed != 0,
                           field.array_len,
                           {}});
  }
  call.print_fmt = static_print_fmt(event);
  return call;
}

}  // namespace patchbay
