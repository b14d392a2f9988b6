// SPDX-License-Identifier: MIT
// Commands that define probes: "p:kprobes/NAME PLACE FIELD FIELD", "r:kprobes/NAME …".
#include <cerrno>
#include <cstdarg>

#include "agent/last_error.h"
#include "api/commands.h"

using namespace patchbay;

namespace {

bool is_probe(const dynevent_cmd* cmd) { return cmd && cmd->type == DYNEVENT_TYPE_KPROBE; }

int add_word(dynevent_cmd* cmd, const char* word) {
  dynevent_arg arg;
  patchbay_dynevent_arg_init(&arg, nullptr, 0);
  arg.str = word;
  return patchbay_dynevent_arg_add(cmd, &arg);
}

int add_fields(dynevent_cmd* cmd, va_list fields) {
  while (const char* field = va_arg(fields, const char*)) {
    if (++cmd->n_fields > PATCHBAY_PROBE_FIELDS_MAX) return refuse_plain(-EINVAL);
    if (const int refused = add_word(cmd, field)) return refused;
  }
  return 0;
}

}  // namespace

void patchbay_kprobe_event_cmd_init(dynevent_cmd* cmd, char* buf, int maxlen) {
  patchbay_dynevent_cmd_init(cmd, buf, maxlen, DYNEVENT_TYPE_KPROBE, run_probe_command);
}

int patchbay___kprobe_event_gen_cmd_start(dynevent_cmd* cmd, int kretprobe, const char* name,
                                          const char* loc, ...) {
  if (!is_probe(cmd) || !name || !loc) return refuse_plain(-EINVAL);
  cmd->event_name = name;
  int result = patchbay_dynevent_str_add(cmd, kretprobe ? "r:kprobes/" : "p:kprobes/");
  if (!result) result = patchbay_dynevent_str_add(cmd, name);
  if (!result) result = add_word(cmd, loc);
  va_list fields;
  va_start(fields, loc);
  if (!result) result = add_fields(cmd, fields);
  va_end(fields);
  return result;
}

int patchbay___kprobe_event_add_fields(dynevent_cmd* cmd, ...) {
  if (!is_probe(cmd)) return refuse_plain(-EINVAL);
  va_list fields;
  va_start(fields, cmd);
  const int result = add_fields(cmd, fields);
  va_end(fields);
  return result;
}
