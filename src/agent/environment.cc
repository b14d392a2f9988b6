// SPDX-License-Identifier: MIT
#include "agent/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace patchbay {
namespace {

std::vector<std::string> split(const char* text, const char* separators) {
  std::vector<std::string> words;
  if (!text) return words;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t end = rest.find_first_of(separators);
    std::string_view word = rest.substr(0, end);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    if (!word.empty()) words.emplace_back(word);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return words;
}

bool is_agent(std::string_view path) {
  size_t slash = path.rfind('/');
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name.starts_with("libpatchbay.so");
}

}  // namespace

AgentSettings read_settings() {
  AgentSettings settings;
  const char* wait = std::getenv("PATCHBAY_WAIT");
  settings.wait = wait && std::strcmp(wait, "1") == 0;
  if (const char* size = std::getenv("PATCHBAY_BUFFER_SIZE_KB")) {
    uint64_t kb = std::strtoull(size, nullptr, 10);
    if (kb > 0) settings.buffer_size_kb = kb;
  }
  if (const char* overwrite = std::getenv("PATCHBAY_OVERWRITE"))
    settings.overwrite = std::strcmp(overwrite, "0") != 0;
  settings.function_events = split(std::getenv("PATCHBAY_FUNCTION_EVENTS"), "\n;");
  const char* trace_event = std::getenv("PATCHBAY_TRACE_EVENT");
  settings.trace_events = split(trace_event, ",");
  settings.enable_all = !trace_event && !settings.function_events.empty();
  return settings;
}

namespace {

// Takes the agent out of the list in `value` ("a.so:libpatchbay.so"), in place. False: nothing is
// left.
bool shorten_preload(char* value) {
  std::string kept;
  for (const std::string& path : split(value, ": ")) {
    if (is_agent(path)) continue;
    if (!kept.empty()) kept += ':';
    kept += path;
  }
  if (kept.size() <= std::strlen(value)) std::memcpy(value, kept.c_str(), kept.size() + 1);
  return !kept.empty();
}

bool keep(char* entry) {
  for (std::string_view name :
       {"PATCHBAY_WAIT=", "PATCHBAY_DIR=", "PATCHBAY_BUFFER_SIZE_KB=", "PATCHBAY_OVERWRITE="})
    if (std::string_view(entry).starts_with(name)) return false;
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  return !std::string_view(entry).starts_with(kPreload) || shorten_preload(entry + kPreload.size());
}

}  // namespace

void hide_from_environment() {
  if (!environ) return;
  char** to = environ;
  for (char** from = environ; *from; from++)
    if (keep(*from)) *to++ = *from;
  *to = nullptr;
}

}  // namespace patchbay
