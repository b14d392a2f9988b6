/* SPDX-License-Identifier: MIT */
/* Events of event_app.c and of its plug-in event_plugin_so.c. Both have `shared_event`. */
#include <patchbay/trace_event.h>

PB_TRACE_EVENT(app, shared_event, PB_FIELDS(PB_FIELD(int, from), PB_FIELD(long, n)));

#ifdef EVENT_PLUGIN
PB_TRACE_EVENT(plugin, plugin_call,
               PB_FIELDS(PB_FIELD(int, thread), PB_FIELD(long, n), PB_STRING(text)),
               PB_PRINT("thread=%d n=%ld text=%s", REC->thread, REC->n, __get_str(text)));
/* The same name as an event of the program, but other fields: refused, and nothing else is. */
PB_TRACE_EVENT(app, differing_event, PB_FIELDS(PB_STRING(other)));
#else
PB_TRACE_EVENT(app, app_work,
               PB_FIELDS(PB_FIELD(int, thread), PB_FIELD(long, n), PB_ARRAY(char, name, 8),
                         PB_ARRAY(int, three, 3), PB_DYNAMIC_ARRAY(long, squares)));
PB_TRACE_EVENT(app, app_flags, PB_FIELDS(PB_FIELD(unsigned long, flags)),
               PB_PRINT("flags=%s", __print_flags(REC->flags, "|", {1, "A"}, {2, "B"})));
PB_TRACE_EVENT(app, app_end, PB_FIELDS());
PB_TRACE_EVENT(app, differing_event, PB_FIELDS(PB_FIELD(int, value)));
#endif
