// SPDX-License-Identifier: MIT
// patchbay/ftrace.h: the program's callbacks, on CallbackOps (tracer/callback_ops.h).
#include <patchbay/ftrace.h>

#include <cerrno>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "agent/agent.h"
#include "tracer/callback_ops.h"

using namespace patchbay;

namespace {

constexpr uint32_t kLongestWait = 10'000;  // milliseconds

int answer(const Status& status) { return status.ok() ? 0 : -status.error().errno_value; }

// What one call of the API has: the agent, its lock, and the entry of the ops.
class OpsCall {
 public:
  explicit OpsCall(ftrace_ops* ops) : agent_(own_agent()) {
    if (!agent_) return;
    guard_ = std::unique_lock(agent_->lock());
    if (ops && !all().knows(ops->patchbay_id)) ops->patchbay_id = all().make();
  }
  int refused(const ftrace_ops* ops) const { return !agent_ ? -ESRCH : !ops ? -EINVAL : 0; }
  CallbackOps& all() { return *agent_->callback_ops; }
  Agent* agent() { return agent_; }
  void unlock() { guard_.unlock(); }

 private:
  AgentScope scope_;
  Agent* agent_;
  std::unique_lock<std::recursive_mutex> guard_;
};

std::string_view pattern_of(const unsigned char* buf, int len) {
  if (!buf || len <= 0) return {};
  std::string_view text(reinterpret_cast<const char*>(buf), size_t(len));
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

int set_filter(ftrace_ops* ops, CallbackOps::Filter which, const unsigned char* buf, int len,
               int reset) {
  OpsCall call(ops);
  if (int refused = call.refused(ops)) return refused;
  const std::string_view text = pattern_of(buf, len);
  if (text.empty() && !reset) return buf ? -EINVAL : 0;
  return answer(call.all().set_filter(ops->patchbay_id, which, text, reset));
}

int set_global(Tracers::Filter which, const unsigned char* buf, int len, int reset) {
  OpsCall call(nullptr);
  if (!call.agent()) return -ESRCH;
  Tracers& tracers = *call.agent()->tracers;
  auto session = tracers.open_filter(call.agent()->registry->top(), which, reset);
  if (!session.ok()) return -session.error().errno_value;
  const std::string_view text = pattern_of(buf, len);
  if (!text.empty())
    if (int status = answer(tracers.write_filter_line(&*session, text))) return status;
  return answer(tracers.close_filter(&*session));
}

const CallbackRegisters* registers_of(const ftrace_regs* fregs) {
  return reinterpret_cast<const CallbackRegisters*>(fregs);
}

}  // namespace

int patchbay_register_ftrace_function(ftrace_ops* ops) {
  OpsCall call(ops);
  if (int refused = call.refused(ops)) return refused;
  if (!ops->func) return -EINVAL;
  const int status = answer(call.all().add(ops->patchbay_id, reinterpret_cast<uint64_t>(ops->func),
                                           reinterpret_cast<uint64_t>(ops)));
  if (status == 0) ops->flags |= FTRACE_OPS_FL_ENABLED;
  return status;
}

// The lock is given back first: the callback that is waited for may be waiting for it.
int patchbay_unregister_ftrace_function(ftrace_ops* ops) {
  OpsCall call(ops);
  if (int refused = call.refused(ops)) return refused;
  HitCallback* callback = call.all().remove(ops->patchbay_id);
  if (!callback) return -EBUSY;
  ops->flags &= ~FTRACE_OPS_FL_ENABLED;
  call.unlock();
  return answer(wait_until_left(callback, kLongestWait));
}

int patchbay_ftrace_set_filter(ftrace_ops* ops, unsigned char* buf, int len, int reset) {
  return set_filter(ops, CallbackOps::Filter::kFilter, buf, len, reset);
}

int patchbay_ftrace_set_notrace(ftrace_ops* ops, unsigned char* buf, int len, int reset) {
  return set_filter(ops, CallbackOps::Filter::kNotrace, buf, len, reset);
}

int patchbay_ftrace_set_filter_ips(ftrace_ops* ops, unsigned long* ips, unsigned int count,
                                   int remove, int reset) {
  OpsCall call(ops);
  if (int refused = call.refused(ops)) return refused;
  if (!ips && count) return -EINVAL;
  return answer(call.all().set_filter_addresses(ops->patchbay_id, {ips, count}, remove, reset));
}

int patchbay_ftrace_set_filter_ip(ftrace_ops* ops, unsigned long ip, int remove, int reset) {
  return patchbay_ftrace_set_filter_ips(ops, &ip, 1, remove, reset);
}

void patchbay_ftrace_free_filter(ftrace_ops* ops) {
  OpsCall call(ops);
  if (call.refused(ops)) return;
  call.all().clear_filters(ops->patchbay_id);
  if (call.all().is_registered(ops->patchbay_id)) return;
  call.all().forget(ops->patchbay_id);
  ops->patchbay_id = 0;
}

int patchbay_ftrace_set_global_filter(unsigned char* buf, int len, int reset) {
  return set_global(Tracers::Filter::kFilter, buf, len, reset);
}

int patchbay_ftrace_set_global_notrace(unsigned char* buf, int len, int reset) {
  return set_global(Tracers::Filter::kNotrace, buf, len, reset);
}

uint64_t patchbay_ftrace_missed(const ftrace_ops* ops) {
  OpsCall call(nullptr);
  return call.agent() && ops ? call.all().missed(ops->patchbay_id) : 0;
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
