// SPDX-License-Identifier: MIT
// patchbay/ftrace.h: the program's callbacks, on CallbackOps (tracer/callback_ops.h).
#include <patchbay/ftrace.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "api/change.h"
#include "tracer/callback_ops.h"

using namespace patchbay;

namespace {

// act(CallbackOps&), with an entry for the ops.
template <typename Act>
int with_ops(ftrace_ops* ops, Act&& act) {
  return change([&](Agent& agent) {
    if (!ops) return -EINVAL;
    CallbackOps& all = *agent.callback_ops;
    if (!all.knows(ops->patchbay_id)) ops->patchbay_id = all.make();
    return act(all);
  });
}

std::string_view pattern_of(const unsigned char* buf, int len) {
  if (!buf || len <= 0) return {};
  std::string_view text(reinterpret_cast<const char*>(buf), size_t(len));
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

int set_filter(ftrace_ops* ops, CallbackOps::Filter which, const unsigned char* buf, int len,
               int reset) {
  return with_ops(ops, [&](CallbackOps& all) {
    const std::string_view text = pattern_of(buf, len);
    if (text.empty() && !reset) return buf ? -EINVAL : 0;
    return answer_of(all.set_filter(ops->patchbay_id, which, text, reset));
  });
}

int set_global(Tracers::Filter which, const unsigned char* buf, int len, int reset) {
  return change([&](Agent& agent) {
    Tracers& tracers = *agent.tracers;
    auto session = tracers.open_filter(agent.registry->top(), which, reset);
    if (!session.ok()) return -session.error().errno_value;
    const std::string_view text = pattern_of(buf, len);
    if (!text.empty())
      if (int status = answer_of(tracers.write_filter_line(&*session, text))) return status;
    return answer_of(tracers.close_filter(&*session));
  });
}

const CallbackRegisters* registers_of(const ftrace_regs* fregs) {
  return reinterpret_cast<const CallbackRegisters*>(fregs);
}

}  // namespace

int patchbay_register_ftrace_function(ftrace_ops* ops) {
  return with_ops(ops, [&](CallbackOps& all) {
    if (!ops->func) return -EINVAL;
    const bool is_general = ops->flags & PATCHBAY_OPS_FL_GENERAL_REGS;
    const int status = answer_of(all.add(
        ops->patchbay_id, reinterpret_cast<uint64_t>(ops->func), reinterpret_cast<uint64_t>(ops),
        is_general ? LiveVectors::kUntouched : LiveVectors::kAtEntry));
    if (status == 0) ops->flags |= FTRACE_OPS_FL_ENABLED;
    return status;
  });
}

int patchbay_unregister_ftrace_function(ftrace_ops* ops) {
  HitCallback* callback = nullptr;
  const int answer = with_ops(ops, [&](CallbackOps& all) {
    callback = all.remove(ops->patchbay_id);
    if (!callback) return -EBUSY;
    ops->flags &= ~FTRACE_OPS_FL_ENABLED;
    return 0;
  });
  return answer ? answer : wait_for_callback(callback);
}

int patchbay_ftrace_set_filter(ftrace_ops* ops, unsigned char* buf, int len, int reset) {
  return set_filter(ops, CallbackOps::Filter::kFilter, buf, len, reset);
}

int patchbay_ftrace_set_notrace(ftrace_ops* ops, unsigned char* buf, int len, int reset) {
  return set_filter(ops, CallbackOps::Filter::kNotrace, buf, len, reset);
}

int patchbay_ftrace_set_filter_ips(ftrace_ops* ops, unsigned long* ips, unsigned int count,
                                   int remove, int reset) {
  return with_ops(ops, [&](CallbackOps& all) {
    if (!ips && count) return -EINVAL;
    return answer_of(all.set_filter_addresses(ops->patchbay_id, {ips, count}, remove, reset));
  });
}

int patchbay_ftrace_set_filter_ip(ftrace_ops* ops, unsigned long ip, int remove, int reset) {
  return patchbay_ftrace_set_filter_ips(ops, &ip, 1, remove, reset);
}

void patchbay_ftrace_free_filter(ftrace_ops* ops) {
  (void)with_ops(ops, [&](CallbackOps& all) {
    all.clear_filters(ops->patchbay_id);
    if (all.is_registered(ops->patchbay_id)) return 0;
    all.forget(ops->patchbay_id);
    ops->patchbay_id = 0;
    return 0;
  });
}

int patchbay_ftrace_set_global_filter(unsigned char* buf, int len, int reset) {
  return set_global(Tracers::Filter::kFilter, buf, len, reset);
}

int patchbay_ftrace_set_global_notrace(unsigned char* buf, int len, int reset) {
  return set_global(Tracers::Filter::kNotrace, buf, len, reset);
}

uint64_t patchbay_ftrace_missed(const ftrace_ops* ops) {
  uint64_t missed = 0;
  (void)change([&](Agent& agent) {
    if (ops) missed = agent.callback_ops->missed(ops->patchbay_id);
    return 0;
  });
  return missed;
}

unsigned long patchbay_ftrace_regs_get_argument(ftrace_regs* fregs, unsigned int n) {
  constexpr unsigned kInRegisters = 6;
  const CallbackRegisters* at = registers_of(fregs);
  return n < kInRegisters ? at->registers->arg[n] : at->stack[1 + n - kInRegisters];
}

unsigned long patchbay_ftrace_regs_get_instruction_pointer(ftrace_regs* fregs) {
  return registers_of(fregs)->ip;
}

unsigned long patchbay_ftrace_regs_get_stack_pointer(ftrace_regs* fregs) {
  return reinterpret_cast<unsigned long>(registers_of(fregs)->stack);
}
