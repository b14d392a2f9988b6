// SPDX-License-Identifier: MIT
#include "agent/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace patchbay {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(std::string_view rest, const char* separators) {
  std::vector<std::string> words;
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

uint64_t parse_size(const char* text) {
  char* end = nullptr;
  uint64_t size = std::strtoull(text, &end, 10);
  switch (*end) {
    case 'G':
    case 'g':
      size *= 1024;
      [[fallthrough]];
    case 'M':
    case 'm':
      size *= 1024;
      [[fallthrough]];
    case 'K':
    case 'k':
      size *= 1024;
      end++;
      break;
    default:
      break;
  }
  return end != text && *end == '\0' ? size : 0;
}

InstanceSettings parse_instance(std::string_view text) {
  InstanceSettings instance;
  std::vector<std::string> words = split(text, ",");
  if (words.empty()) return instance;
  instance.flags = split(words[0], "^");
  if (!instance.flags.empty()) {
    instance.name = instance.flags[0];
    instance.flags.erase(instance.flags.begin());
  }
  instance.events.assign(words.begin() + 1, words.end());
  return instance;
}

std::vector<TriggerSettings> parse_triggers(std::string_view text) {
  std::vector<TriggerSettings> triggers;
  const bool has_lines = text.find_first_of("\n;") != text.npos;
  for (const std::string& one : split(text, has_lines ? "\n;" : ",")) {
    const size_t dot = one.find('.');
    if (dot == one.npos) break;  // as the kernel does: the rest is not looked at
    triggers.push_back({one.substr(0, dot), one.substr(dot + 1)});
  }
  return triggers;
}

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
  if (uint64_t size = parse_size(std::getenv("PATCHBAY_TRACE_BUF_SIZE") ?: ""))
    settings.buffer_size_kb = (size + 1023) / 1024;
  settings.function_events = split(variable("PATCHBAY_FUNCTION_EVENTS"), "\n;");
  for (std::string& line : split(variable("PATCHBAY_KPROBE_EVENT"), "\n;")) {
    std::replace(line.begin(), line.end(), ',', ' ');
    settings.probe_events.push_back(std::move(line));
  }
  settings.trace_events = split(variable("PATCHBAY_TRACE_EVENT"), ",");
  settings.enable_all = !std::getenv("PATCHBAY_TRACE_EVENT") && !settings.function_events.empty();
  settings.trace_triggers = parse_triggers(variable("PATCHBAY_TRACE_TRIGGER"));
  settings.trace_options = split(variable("PATCHBAY_TRACE_OPTIONS"), ",");
  settings.trace_clock = variable("PATCHBAY_TRACE_CLOCK");
  std::string_view snapshot = variable("PATCHBAY_ALLOC_SNAPSHOT");
  settings.alloc_snapshot = !snapshot.empty() && snapshot != "0";
  for (const std::string& text : split(variable("PATCHBAY_TRACE_INSTANCE"), "\n;"))
    settings.instances.push_back(parse_instance(text));
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
