// SPDX-License-Identifier: MIT
#include "agent/environment.h"

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
  if (const char* overwrite = std::getenv("PATCHBAY_OVERWRITE")) settings.overwrite = std::strcmp(overwrite, "0") != 0;
  settings.function_events = split(std::getenv("PATCHBAY_FUNCTION_EVENTS"), "\n;");
  const char* trace_event = std::getenv("PATCHBAY_TRACE_EVENT");
  settings.trace_events = split(trace_event, ",");
  settings.enable_all = !trace_event && !settings.function_events.empty();
  return settings;
}

void hide_from_environment() {
  for (const char* name : {"PATCHBAY_WAIT", "PATCHBAY_DIR", "PATCHBAY_BUFFER_SIZE_KB", "PATCHBAY_OVERWRITE"})
    ::unsetenv(name);
  const char* preload = std::getenv("LD_PRELOAD");
  if (!preload) return;
  std::string kept;
  for (const std::string& path : split(preload, ": ")) {
    if (is_agent(path)) continue;
    if (!kept.empty()) kept += ':';
    kept += path;
  }
  if (kept.empty())
    ::unsetenv("LD_PRELOAD");
  else
    ::setenv("LD_PRELOAD", kept.c_str(), 1);
}

}  // namespace patchbay
