// SPDX-License-Identifier: MIT
//
// A process that makes its parent its tracer is told apart at once: its places of the kind int3
// would be the tracer's breakpoints (patch/site_table.h, kTrapHalt). Debuggers that come by
// themselves are noticed by the control thread.
#include <dlfcn.h>
#include <sys/ptrace.h>

#include <atomic>
#include <cstdarg>
#include <mutex>

#include "agent/agent.h"

// In front of libc's, so visible from outside.
#pragma GCC visibility push(default)
extern "C" long ptrace(enum __ptrace_request request, ...) noexcept {
  using namespace patchbay;
  static std::atomic<void*> next;
  void* found = next.load(std::memory_order_acquire);
  if (!found) {
    found = ::dlsym(RTLD_NEXT, "ptrace");
    next.store(found, std::memory_order_release);
  }
  va_list list;
  va_start(list, request);
  void* value[4];
  for (void*& one : value) one = va_arg(list, void*);
  va_end(list);
  const auto real = reinterpret_cast<long (*)(int, void*, void*, void*, void*)>(found);
  const long answer = real(request, value[0], value[1], value[2], value[3]);
  if (request != PTRACE_TRACEME || answer != 0 || !g_agent) return answer;
  try {
    AgentScope scope;
    std::lock_guard guard(g_agent->lock());
    g_agent->patcher->follow_tracer();
  } catch (const std::bad_alloc&) {
    say_no_memory();
  }
  return answer;
}
#pragma GCC visibility pop
