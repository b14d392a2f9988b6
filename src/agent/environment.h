// SPDX-License-Identifier: MIT
// What the environment asks of the agent (README.md lists the variables).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace patchbay {

struct AgentSettings {
  bool wait = false;  // PATCHBAY_WAIT=1: the tool started us; wait in the constructor for its word
  uint64_t buffer_size_kb = 1408;            // PATCHBAY_BUFFER_SIZE_KB, per CPU
  bool overwrite = true;                     // PATCHBAY_OVERWRITE=0: drop new events when full
  std::vector<std::string> function_events;  // PATCHBAY_FUNCTION_EVENTS: split at newlines and `;`
  bool enable_all = false;                   // definitions, but no PATCHBAY_TRACE_EVENT
  std::vector<std::string> trace_events;     // PATCHBAY_TRACE_EVENT: split at commas
};

AgentSettings read_settings();

// The tool's own variables and our name in LD_PRELOAD go out of the environment, so that programs
// that this one executes start as they would have without us. Edits `environ` itself: programs
// (bash) bring a setenv of their own, which works on another table.
void hide_from_environment();

}  // namespace patchbay
