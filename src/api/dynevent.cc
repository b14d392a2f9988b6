// SPDX-License-Identifier: MIT
// Commands as texts that grow in the caller's buffer. What does not fit leaves the text as it is,
// and the command says so from then on: `length` is above `size`.
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "agent/last_error.h"
#include "api/commands.h"

using patchbay::forget_error;
using patchbay::refuse_plain;

namespace {

int add(dynevent_cmd* cmd, std::initializer_list<std::string_view> parts) {
  size_t bytes = 0;
  for (std::string_view part : parts) bytes += part.size();
  if (cmd->length >= cmd->size || bytes >= cmd->size - cmd->length) {
    cmd->length = cmd->size + 1;
    return refuse_plain(-E2BIG);
  }
  for (std::string_view part : parts) {
    std::memcpy(cmd->buffer + cmd->length, part.data(), part.size());
    cmd->length += uint32_t(part.size());
  }
  cmd->buffer[cmd->length] = '\0';
  return 0;
}

char or_blank(char c) { return c ? c : ' '; }

}  // namespace

void patchbay_dynevent_cmd_init(dynevent_cmd* cmd, char* buf, int maxlen, int type,
                                dynevent_create_fn_t run_command) {
  if (!cmd) return;
  // Not `reserved`: the struct of a program that was compiled before it was there ends earlier.
  cmd->buffer = buf;
  cmd->size = buf && maxlen > 0 ? uint32_t(maxlen) : 0;
  cmd->length = 0;
  cmd->event_name = nullptr;
  cmd->n_fields = 0;
  cmd->type = uint32_t(type);
  cmd->run_command = run_command;
  cmd->private_data = nullptr;
  if (cmd->size) buf[0] = '\0';
}

void patchbay_dynevent_arg_init(dynevent_arg* arg, dynevent_check_arg_fn_t check, char separator) {
  if (arg) *arg = {nullptr, or_blank(separator), check};
}

void patchbay_dynevent_arg_pair_init(dynevent_arg_pair* pair, dynevent_check_arg_fn_t check,
                                     char op, char separator) {
  if (pair) *pair = {nullptr, nullptr, or_blank(op), or_blank(separator), check};
}

int patchbay_dynevent_arg_add(dynevent_cmd* cmd, dynevent_arg* arg) {
  if (!cmd || !arg) return refuse_plain(-EINVAL);
  forget_error();  // check() may leave none
  if (const int refused = arg->check ? arg->check(arg) : 0) return refused;
  if (!arg->str) return refuse_plain(-EINVAL);
  return add(cmd, {" ", arg->str, {&arg->separator, 1}});
}

int patchbay_dynevent_arg_pair_add(dynevent_cmd* cmd, dynevent_arg_pair* pair) {
  if (!cmd || !pair) return refuse_plain(-EINVAL);
  forget_error();
  if (const int refused = pair->check ? pair->check(pair) : 0) return refused;
  if (!pair->lhs || !pair->rhs) return refuse_plain(-EINVAL);
  return add(cmd, {" ", pair->lhs, {&pair->op, 1}, pair->rhs, {&pair->separator, 1}});
}

int patchbay_dynevent_str_add(dynevent_cmd* cmd, const char* str) {
  return cmd && str ? add(cmd, {str}) : refuse_plain(-EINVAL);
}

int patchbay_dynevent_create(dynevent_cmd* cmd) {
  if (!cmd || !cmd->run_command) return refuse_plain(-EINVAL);
  if (cmd->length > cmd->size || !cmd->size) return refuse_plain(-E2BIG);
  return cmd->run_command(cmd);
}
