// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_target.h"

#include <algorithm>

namespace patchbay::cmd {

int HistTarget::take_words(int argc, char** argv) {
  int own = 1;
  while (own < argc && std::string_view(argv[own]) != "--") own++;
  words.assign(argv + std::min(own + 1, argc), argv + argc);
  return own;
}

bool HistTarget::take_pid_word(const std::string& word) {
  int pid = 0;
  if (names_processes() || !parse_pid(word, &pid)) return false;
  processes.pids.push_back(pid);
  return true;
}

const char* HistTarget::take_option(int id, const std::string& value) {
  if (is_process_option(id)) return processes.take(id, value);
  if (id == 'v') return verbose = true, nullptr;
  if (id == 'o') return output = value, value.empty() ? "-o takes a file." : nullptr;
  if (id == kHistJson) return json = true, nullptr;
  if (id == kHistFollow) return waits_for_events = true, nullptr;
  if (id == kHistPerProcess) return per_process = true, nullptr;
  const bool right = parse_positive(value, &delay) && delay < 1e6;
  return right ? nullptr : "-d takes seconds.";
}

const char* HistTarget::check(bool has_words) const {
  if (has_words && words.empty()) return "The program to run is missing.";
  if (has_words && names_processes()) return "A process or a program to run is needed, not both.";
  if (waits_for_events && !has_words)
    return "--follow is about a program that is started: behind --.";
  if (per_process && !processes.is_several())
    return "--per-process is about several processes: -p A -p B, --all, --cgroup, --exe.";
  return nullptr;
}

}  // namespace patchbay::cmd
