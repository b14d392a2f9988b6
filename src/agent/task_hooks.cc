// SPDX-License-Identifier: MIT
//
//   pthread_create -> the new thread, first of all: thread_started(its creator)   (signal_hooks.cc)
//   end of a thread, whichever way                -> destructor of a thread-specific key
//   fork: prepare takes the lock; the parent gives it back; the child makes a new one, because it
//   is another thread now, and goes on recording into the same rings under its own thread id; a
//   thread of its own follows what its parent's tree is told from now on (followers.h)
#include "agent/task_hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "agent/agent.h"
#include "agent/followers.h"
#include "agent/next_function.h"
#include "agent/signal_hooks.h"
#include "agent/stand_ins.h"
#include "base/last_thread.h"
#include "base/libc_thread.h"
#include "base/raw_syscall.h"
#include "patch/trap_gate.h"
#include "probe/callbacks/callbacks.h"
#include "registry/pid_lists.h"
#include "ring_buffer/thread_rseq.h"

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
  rseq_was_registered();
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
  may_use_rseq();  // asks, before the child can have a filter that forbids to ask
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

// --- the value for threads that are older than the agent
//
// Nobody announces their end, and a transaction in libc must not find one there (trap_gate.h). Only
// the thread itself can set its value, and to let each of them call pthread_setspecific() it would
// have to be stopped at a good place, as in phase A. But the value is two words and a byte of the
// thread's own memory, which nobody else looks at: the tool writes them while all stand still.
// Where they are is seen here: this thread sets its own value, and what has changed is that.

ExitKey g_place;

// The kernel writes there by itself.
bool is_of_rseq(size_t at) {
  constexpr size_t kRoom = 64;
  return pb_rseq_offset && at - size_t(pb_rseq_offset) < kRoom;
}

// The words next to each other that were {0, 0} and are {sequence, value}, and a byte that was 0
// and is 1. Anything else is not understood.
ExitKey compare(const std::vector<uint8_t>& before, const std::vector<uint8_t>& after,
                uint64_t value) {
  ExitKey found;
  size_t used = 0;
  for (size_t at = 0; at + 16 <= after.size(); at += 8) {
    uint64_t was[2], is[2];
    std::memcpy(was, &before[at], sizeof was);
    std::memcpy(is, &after[at], sizeof is);
    if (is[1] != value || was[1] == value || !is[0] || is[0] == was[0]) continue;
    if (found.data) return {};
    found.data = int64_t(at);
    found.sequence = is[0], found.value = value;
  }
  for (size_t at = 0; at < after.size(); at++) {
    const bool is_data = at - size_t(found.data) < 16;
    if (before[at] == after[at] || is_data || is_of_rseq(at)) continue;
    if (used || before[at] != 0 || after[at] != 1) return {};
    used = at;
  }
  found.used = int64_t(used);
  return found.data && used ? found : ExitKey();
}

// On a thread that has used no key yet.
ExitKey find_exit_key() {
  const auto* self = static_cast<const uint8_t*>(__builtin_thread_pointer());
  std::vector<uint8_t> before(size_of_pthread());
  std::vector<uint8_t> after(before.size());
  if (before.empty()) return {};
  std::memcpy(before.data(), self, before.size());
  ::pthread_setspecific(g_exit_key, g_agent);
  std::memcpy(after.data(), self, after.size());
  ::pthread_setspecific(g_exit_key, nullptr);
  return compare(before, after, reinterpret_cast<uint64_t>(g_agent));
}

}  // namespace

void install_task_hooks() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (::pthread_key_create(&g_exit_key, thread_ends) != 0) return;
  set_thread_hook(thread_started);
  if (g_agent->settings.attached) g_place = find_exit_key();
}

const ExitKey& exit_key() { return g_place; }

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
