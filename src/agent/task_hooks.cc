// SPDX-License-Identifier: MIT
//
//   pthread_create -> the new thread, first of all: thread_started(its creator)   (signal_hooks.cc)
//   end of a thread, whichever way                -> destructor of a thread-specific key
//   fork: prepare takes the lock; the parent gives it back; the child makes a new one, because it
//   is another thread now, and goes on recording into the same rings under its own thread id; a
//   thread of its own follows what its parent's tree is told from now on (followers.h)
#include "agent/task_hooks.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "agent/agent.h"
#include "agent/followers.h"
#include "agent/next_function.h"
#include "agent/signal_hooks.h"
#include "agent/stand_ins.h"
#include "base/last_thread.h"
#include "base/raw_syscall.h"
#include "patch/trap_gate.h"
#include "probe/callbacks/callbacks.h"
#include "registry/pid_lists.h"

namespace patchbay {
namespace {

pthread_key_t g_exit_key;
uint32_t g_forking_tid;  // under the lock, from prepare to the child
bool g_fork_is_clean;    // likewise: not in the middle of agent code

uint32_t thread_id() { return uint32_t(raw_syscall(SYS_gettid)); }

void task_forked(uint32_t creator, uint32_t task) try {
  g_agent->registry->pid_lists().task_forked(creator, task);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

void thread_started(uint32_t creator) {
  AgentScope scope;
  ::pthread_setspecific(g_exit_key, g_agent);  // any value but null: then the destructor is called
  task_forked(creator, thread_id());
}

void thread_ends(void*) {
  AgentScope scope;
  pb_thread.open = 0;  // libc is going to block all signals
  try {
    g_agent->registry->pid_lists().task_exited(thread_id());
  } catch (const std::bad_alloc&) {
    say_no_memory();
  }
  trap_gate_ends(thread_id());
  callback_thread_ends();
}

void before_fork() {
  const bool clean = pb_thread.in_agent == 0;
  pb_thread.in_agent++;
  pb_thread.fast_tid = 0;
  g_agent->lock().lock();
  g_forking_tid = thread_id();
  g_fork_is_clean = clean;
  followers_before_fork();
  pb_thread.in_agent--;
}

void after_fork_in_parent() { g_agent->lock().unlock(); }

// It has no control thread.
void after_fork_in_child() {
  AgentScope scope;
  forget_first_thread();
  signal_hooks_after_fork();
  trap_gate_after_fork();
  callbacks_after_fork();
  new (&g_agent->lock()) std::recursive_mutex;
  pb_thread.tid = 0;
  pb_thread.known = 0;
  task_forked(g_forking_tid, thread_id());
  follow_after_fork(g_fork_is_clean);
}

}  // namespace

void install_task_hooks() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (::pthread_key_create(&g_exit_key, thread_ends) == 0) set_thread_hook(thread_started);
}

}  // namespace patchbay

// The parent's lists show the child as well; the child's own have it from after_fork_in_child().
#pragma GCC visibility push(default)
extern "C" PB_STAND_IN pid_t fork() noexcept {
  const auto real = patchbay::next_function<pid_t (*)()>(patchbay::Next::kFork);
  pid_t child;
  {
    patchbay::ClosedSignals closed;  // libc blocks all signals around the system call
    child = real();
  }
  if (child > 0 && patchbay::own_agent()) {
    patchbay::AgentScope scope;
    patchbay::task_forked(patchbay::thread_id(), uint32_t(child));
  }
  return child;
}
#pragma GCC visibility pop
