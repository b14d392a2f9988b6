// SPDX-License-Identifier: MIT
// What the sub-commands share: messages, colour, numbers, JSON strings.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "commands.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

enum class Color { kAuto, kAlways, kNever };
Color g_color = Color::kAuto;

void print_message(std::string_view command, std::string_view sentence) {
  bool color = use_color(stderr);
  std::fprintf(stderr, "%spatchbay%s%.*s:%s %s\n", color ? "\033[31m" : "",
               command.empty() ? "" : " ", int(command.size()), command.data(),
               color ? "\033[0m" : "", printable(sentence).c_str());
}

// Length of the UTF-8 sequence at the head of `text`; 0 when it is not one.
size_t utf8_length(std::string_view text) {
  unsigned char head = static_cast<unsigned char>(text[0]);
  size_t length = head < 0x80                   ? 1
                  : head >= 0xc2 && head < 0xe0 ? 2
                  : head >= 0xe0 && head < 0xf0 ? 3
                  : head >= 0xf0 && head < 0xf5 ? 4
                                                : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  unsigned char second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  bool overlong = (head == 0xe0 && second < 0xa0) || (head == 0xf0 && second < 0x90);
  bool outside = (head == 0xed && second >= 0xa0) ||
                 (head == 0xf4 && second >= 0x90);  // surrogates; beyond 10ffff
  return overlong || outside ? 0 : length;
}

}  // namespace

int fail(std::string_view command, std::string_view sentence) {
  print_message(command, sentence);
  return kFailed;
}

int fail(std::string_view command, const Error& error) { return fail(command, error.message()); }

int usage_error(std::string_view command, std::string_view sentence) {
  print_message(command, sentence);
  std::fprintf(stderr, "Try 'patchbay%s%.*s -h'.\n", command.empty() ? "" : " ",
               int(command.size()), command.data());
  return kUsage;
}

void remark(std::string_view sentence) {
  std::fprintf(stderr, "patchbay: %s\n", printable(sentence).c_str());
}

std::string printable(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const size_t kept = std::min(text.find_first_of("\n\t"), text.size());
    append_escaped(&safe, text.substr(0, kept));
    if (kept == text.size()) break;
    safe += text[kept];
    text.remove_prefix(kept + 1);
  }
  return safe;
}

bool set_color(std::string_view value) {
  if (value == "auto")
    g_color = Color::kAuto;
  else if (value == "always")
    g_color = Color::kAlways;
  else if (value == "never")
    g_color = Color::kNever;
  else
    return false;
  return true;
}

bool use_color(std::FILE* stream) {
  if (g_color != Color::kAuto) return g_color == Color::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color && *no_color) return false;
  return term && std::strcmp(term, "dumb") != 0 && ::isatty(::fileno(stream));
}

bool parse_pid(std::string_view text, int* pid) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *pid);
  return error == std::errc() && end == text.data() + text.size() && *pid >= 1 && *pid <= 1 << 22;
}

std::string json_quote(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    size_t length = utf8_length(text);
    unsigned char c = static_cast<unsigned char>(text[0]);
    char escape[8];
    if (length == 0)
      quoted += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      quoted += {'\\', char(c)};
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (c < 0x20 || c == 0x7f) {
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      quoted += escape;
    } else
      quoted += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return quoted + "\"";
}

}  // namespace patchbay::cmd
