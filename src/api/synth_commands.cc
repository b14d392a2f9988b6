// SPDX-License-Identifier: MIT
// Commands that define synthetic events: " NAME  TYPE FIELD; TYPE FIELD;".
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <new>
#include <string>

#include "agent/last_error.h"
#include "api/commands.h"
#include "event/synthetic_event.h"

using namespace patchbay;

namespace {

static_assert(PATCHBAY_SYNTH_FIELDS_MAX == kMaxSyntheticFields);

// As synth_event_check_arg_fn(): an array is checked when the event is made.
int check_field(void* pair) {
  const char* type = static_cast<const dynevent_arg_pair*>(pair)->lhs;
  const bool is_one_number = is_synthetic_number_type(type) || is_synthetic_real_type(type);
  if (is_one_number || std::strchr(type, '[')) return 0;
  return refuse(
      user_error(EINVAL, "There is no type \"" + std::string(type) + "\" of synthetic events."));
}

bool is_synthetic(const dynevent_cmd* cmd) { return cmd && cmd->type == DYNEVENT_TYPE_SYNTH; }

int start(dynevent_cmd* cmd, const char* name, module* mod) {
  // A line that begins with ! would remove an event.
  if (!is_synthetic(cmd) || !name || *name == '!') return refuse_plain(-EINVAL);
  cmd->event_name = name;
  cmd->private_data = mod;
  dynevent_arg arg;
  patchbay_dynevent_arg_init(&arg, nullptr, 0);
  arg.str = name;
  return patchbay_dynevent_arg_add(cmd, &arg);
}

int count_field(dynevent_cmd* cmd) {
  return ++cmd->n_fields > PATCHBAY_SYNTH_FIELDS_MAX ? refuse_plain(-EINVAL) : 0;
}

}  // namespace

void patchbay_synth_event_cmd_init(dynevent_cmd* cmd, char* buf, int maxlen) {
  patchbay_dynevent_cmd_init(cmd, buf, maxlen, DYNEVENT_TYPE_SYNTH, run_synthetic_command);
}

int patchbay_synth_event_add_field(dynevent_cmd* cmd, const char* type, const char* name) {
  if (!is_synthetic(cmd) || !type || !name) return refuse_plain(-EINVAL);
  dynevent_arg_pair pair;
  patchbay_dynevent_arg_pair_init(&pair, check_field, 0, ';');
  pair.lhs = type;
  pair.rhs = name;
  if (const int refused = patchbay_dynevent_arg_pair_add(cmd, &pair)) return refused;
  return count_field(cmd);
}

int patchbay_synth_event_add_field_str(dynevent_cmd* cmd, const char* type_name) {
  if (!is_synthetic(cmd) || !type_name) return refuse_plain(-EINVAL);
  dynevent_arg arg;
  patchbay_dynevent_arg_init(&arg, nullptr, ';');
  arg.str = type_name;
  if (const int refused = patchbay_dynevent_arg_add(cmd, &arg)) return refused;
  return count_field(cmd);
}

int patchbay_synth_event_add_fields(dynevent_cmd* cmd, synth_field_desc* fields,
                                    unsigned int n_fields) {
  if (!is_synthetic(cmd) || (!fields && n_fields)) return refuse_plain(-EINVAL);
  for (unsigned int i = 0; i < n_fields; i++)
    if (const int refused = patchbay_synth_event_add_field(cmd, fields[i].type, fields[i].name))
      return refused;
  return 0;
}

int patchbay_synth_event_gen_cmd_array_start(dynevent_cmd* cmd, const char* name, module* mod,
                                             synth_field_desc* fields, unsigned int n_fields) {
  if (!is_synthetic(cmd) || n_fields > PATCHBAY_SYNTH_FIELDS_MAX) return refuse_plain(-EINVAL);
  if (const int refused = start(cmd, name, mod)) return refused;
  return patchbay_synth_event_add_fields(cmd, fields, n_fields);
}

int patchbay___synth_event_gen_cmd_start(dynevent_cmd* cmd, const char* name, module* mod, ...) {
  int result = start(cmd, name, mod);
  va_list words;
  va_start(words, mod);
  while (!result) {
    const char* type = va_arg(words, const char*);
    const char* field = type ? va_arg(words, const char*) : nullptr;
    if (!field) break;
    result = patchbay_synth_event_add_field(cmd, type, field);
  }
  va_end(words);
  return result;
}

int patchbay_synth_event_create(const char* name, synth_field_desc* fields, unsigned int n_fields,
                                module* mod) {
  char text[MAX_DYNEVENT_CMD_LEN];
  dynevent_cmd cmd;
  patchbay_synth_event_cmd_init(&cmd, text, sizeof text);
  if (const int refused =
          patchbay_synth_event_gen_cmd_array_start(&cmd, name, mod, fields, n_fields))
    return refused;
  return patchbay_dynevent_create(&cmd);
}
