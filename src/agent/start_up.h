// SPDX-License-Identifier: MIT
//
// What configuration and environment ask for (environment.h) is done here, before the program's
// main. Like the kernel's command line: a mistake is reported once, in error_log and on stderr, and
// the rest goes on.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

struct Agent;
struct TraceArray;

// The static events of all objects that the program was started with: their own constructors, which
// register them, run after ours.
void find_static_events(Agent* agent);

void apply_settings(Agent* agent);

// Words of set_event, triggers and lines of the configuration that waited for their event: after
// events came, and, to report those that still wait, when the program is under way.
void retry_waiting_events(Agent* agent);
void report_waiting_events(Agent* agent);
// At the end: function events of PATCHBAY_FUNCTION_EVENTS whose library never came.
void report_unplaced_events(Agent* agent);

// A failed `status` as a mistake in `value`, which `where` gave; the caret stands `position`
// characters from its beginning.
void report(Agent* agent, std::string_view where, std::string_view value, const Status& status,
            size_t position = 0);
// One line on stderr, unless the program's parent has said it already.
void tell_mistake(Agent* agent, const std::string& sentence);

// One word of set_event; it waits when there is no such event.
void set_event(Agent* agent, TraceArray& array, const std::string& where, const std::string& word);

}  // namespace patchbay
