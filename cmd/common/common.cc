// SPDX-License-Identifier: MIT
// What the sub-commands share: messages, colour, numbers, JSON strings.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "output/trace_line.h"
#include "symbol/symbol.h"

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

}  // namespace

int fail(std::string_view command, std::string_view sentence) {
  print_message(command, sentence);
  return kFailed;
}

// What the system refused is told on one line: a newline in it is one of a name.
int fail(std::string_view command, const Error& error) {
  const std::string message = error.message();
  return fail(command, error.sentence ? message : one_line(message));
}

int usage_error(std::string_view command, std::string_view sentence) {
  print_message(command, sentence);
  std::fprintf(stderr, "Try 'patchbay%s%.*s -h'.\n", command.empty() ? "" : " ",
               int(command.size()), command.data());
  return kUsage;
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& names) {
  std::string sentence;
  for (const std::string& near : near_matches(wrong, names))
    sentence += (sentence.empty() ? " Did you mean '" : "' or '") + near;
  return sentence.empty() ? sentence : sentence + "'?";
}

static int g_remarks_off = 0;

RemarksOff::RemarksOff() { g_remarks_off++; }
RemarksOff::~RemarksOff() { g_remarks_off--; }

void remark(std::string_view sentence) {
  if (g_remarks_off) return;
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

std::string one_line(std::string_view name) {
  std::string safe;
  append_escaped(&safe, name);
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
  int read = 0;
  if (!parse_positive(text, &read) || read > 1 << 22) return false;
  *pid = read;
  return true;
}

std::string json_quote(std::string_view text) {
  std::string quoted;
  append_json_string(&quoted, text);
  return quoted;
}

std::string size_text(uint64_t bytes) {
  char text[32];
  const char* units[] = {"bytes", "KB", "MB", "GB", "TB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, unit++;
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

}  // namespace patchbay::cmd
