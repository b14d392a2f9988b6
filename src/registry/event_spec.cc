// SPDX-License-Identifier: MIT
#include "registry/event_spec.h"

#include <algorithm>

namespace patchbay {

namespace {

constexpr std::string_view kModule = ":mod:";

std::string module_word(std::string_view name) {
  std::string word(name);
  std::replace(word.begin(), word.end(), '-', '_');
  return word;
}

// A lone `*` and nothing at all both mean any.
std::string_view name_or_any(std::string_view name) { return name == "*" ? "" : name; }

}  // namespace

EventSpec parse_event_spec(std::string_view word) {
  EventSpec spec;
  if (word.starts_with('!')) {
    spec.on = false;
    word.remove_prefix(1);
  }
  spec.empty = word.empty();
  if (size_t at = word.find(kModule); at != word.npos) {
    spec.module = module_word(word.substr(at + kModule.size()));
    word = word.substr(0, at);
  }
  if (size_t colon = word.find(':'); colon != word.npos) {
    spec.system = name_or_any(word.substr(0, colon));
    spec.event = name_or_any(word.substr(colon + 1));
  } else {
    spec.match = spec.module.empty() ? word : name_or_any(word);
  }
  return spec;
}

bool EventSpec::matches(const LiveEvent& live) const {
  if (!module.empty() && !is_module(module, live.module)) return false;
  const EventCall& call = live.call;
  if (!match.empty()) return match == call.system || match == call.name;
  return (system.empty() || system == call.system) && (event.empty() || event == call.name);
}

std::string EventSpec::request() const {
  if (!match.empty()) return match + std::string(kModule) + module;
  return (system.empty() ? "*" : system) + ":" + (event.empty() ? "*" : event) +
         std::string(kModule) + module;
}

bool is_module(std::string_view wanted, std::string_view file_name) {
  std::string name = module_word(file_name), word = module_word(wanted);
  if (name.empty() || !name.starts_with(word)) return false;
  std::string_view rest = std::string_view(name).substr(word.size());
  if (rest.empty()) return true;
  return word.ends_with(".so") ? rest[0] == '.' : rest.starts_with(".so");
}

}  // namespace patchbay
