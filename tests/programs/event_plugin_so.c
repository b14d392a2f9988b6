// SPDX-License-Identifier: MIT
// Loaded and unloaded by event_app.c, with static events of its own.
#define EVENT_PLUGIN
#include "event_app.h"

void plugin_call(int thread, long n);
void plugin_call(int thread, long n) {
  PB_TRACE(plugin_call, thread, n, "from the plug-in");
  PB_TRACE(shared_event, 1, n);
  PB_TRACE(differing_event, "never");
}
