// SPDX-License-Identifier: MIT
//
// A process that makes its parent its tracer is told apart at once: its places of the kind int3
// would be the tracer's breakpoints (patch/site_table.h, kTrapHalt). Debuggers that come by
// themselves are noticed by the control thread.
#include <sys/ptrace.h>

#include <mutex>

#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/stand_ins.h"

// In front of libc's, so visible from outside.
#pragma GCC visibility push(default)
// libc's is variadic; its arguments come in the same registers.
extern "C" long patchbay_ptrace(int request, void* pid, void* address, void* data,
                                void* more) noexcept __asm__("ptrace");
extern "C" PB_STAND_IN long patchbay_ptrace(int request, void* pid, void* address, void* data,
                                            void* more) noexcept {
  using namespace patchbay;
  const auto real = next_function<long (*)(int, void*, void*, void*, void*)>(Next::kPtrace);
  const long answer = real(request, pid, address, data, more);
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
