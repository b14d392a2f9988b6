// SPDX-License-Identifier: MIT
//
// What the environment asks for (environment.h) is done here, before the program's main. Like the
// kernel's command line: a mistake is reported once, in error_log and on stderr, and the rest goes
// on.
#pragma once

namespace patchbay {

struct Agent;

// The static events of all objects that the program was started with: their own constructors, which
// register them, run after ours.
void find_static_events(Agent* agent);

void apply_settings(Agent* agent);

// Words of PATCHBAY_TRACE_EVENT and PATCHBAY_TRACE_INSTANCE that waited for their event: after
// events came, and, to report those that still wait, when the program is under way.
void retry_waiting_events(Agent* agent);
void report_waiting_events(Agent* agent);

}  // namespace patchbay
