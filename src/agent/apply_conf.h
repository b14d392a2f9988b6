// SPDX-License-Identifier: MIT
//
// Carries out what a configuration file says (environment.h has read it), before the program's
// main: each line is a write to a file of our own tree, with its line number before every message.
//
//   lines, in their order ──> files of the tree          a mistake: stderr and error_log, go on
//        │                       (the variables of the environment follow: start_up.cc)
//        └── events/… not there, words of set_event without an event: wait, as the variables do
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

struct Agent;

// open(2) with `flags` (O_WRONLY and O_TRUNC or O_APPEND), write(2) until all is taken (null: not
// once), close(2), of a file of our own tree. Under the agent's lock.
Status write_file(Agent* agent, const std::string& path, std::optional<std::string_view> text,
                  int flags);

// The same for a setting of the start. A filter that no function fits would be empty, and an empty
// filter means all functions: the tracer of that instance is not started then, and an error says
// so. `instance`: its name, "" for the top one.
Status write_setting(Agent* agent, const std::string& instance, const std::string& file,
                     std::optional<std::string_view> text, int flags);

void apply_conf(Agent* agent);

// Lines that waited for their event. True: they are done with.
void retry_waiting_writes(Agent* agent);
void report_waiting_writes(Agent* agent);

}  // namespace patchbay
