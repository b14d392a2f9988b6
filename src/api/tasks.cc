// SPDX-License-Identifier: MIT
//
// patchbay/static_event_abi.h: a thread that plays a task, as the stand-in kernel of the tests
// does. Its records carry the task's id and name; forks and exits of tasks reach the lists of
// threads.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "agent/agent.h"
#include "patchbay/static_event_abi.h"
#include "probe/thread_blocks.h"
#include "registry/markers.h"
#include "registry/pid_lists.h"

#define PATCHBAY_API extern "C" __attribute__((visibility("default")))

namespace patchbay {
namespace {

constexpr size_t kCommSize = sizeof PlayedTask{}.comm;

// (id, comm) pairs whose comm has been entered. Appended under the lock, read without; full: the
// rest stays without a name.
struct EnteredTask {
  std::atomic<uint32_t> pid{0};
  char comm[kCommSize] = {};
};
constexpr uint32_t kPlayedTasks = 8192;
// Before any constructor, and of no memory until used.
constinit EnteredTask g_played[kPlayedTasks];

// The entry, or the free place where it would stand; null: full.
EnteredTask* find_played(uint32_t pid, const char* comm) {
  uint32_t at = pid * 2654435761u;
  for (uint32_t i = 0; i < kPlayedTasks; i++) {
    EnteredTask* task = &g_played[(at + i) % kPlayedTasks];
    const uint32_t found = task->pid.load(std::memory_order_acquire);
    if (!found || (found == pid && std::memcmp(task->comm, comm, kCommSize) == 0)) return task;
  }
  return nullptr;
}

// The only part that is not async-signal-safe.
void enter_played(uint32_t pid, const char* comm) {
  AgentScope scope;
  std::lock_guard guard(g_agent->lock());
  EnteredTask* task = find_played(pid, comm);
  if (!task || task->pid.load(std::memory_order_relaxed)) return;
  std::memcpy(task->comm, comm, kCommSize);
  g_agent->registry->markers().learn_comm({pid, uint32_t(g_agent->pid), comm});
  task->pid.store(pid, std::memory_order_release);
}

void copy_comm(const char* comm, char* to) {
  size_t length = 0;
  while (comm && comm[length] && length < kCommSize - 1) length++;
  for (size_t i = 0; i < kCommSize; i++) to[i] = i < length ? comm[i] : '\0';
}

// A handler of this thread may hit in the middle: then it sees the task without a comm, and the id
// that it has found out is forgotten.
void play(PlayedTask* played, uint32_t pid, const char* comm) {
  played->has_comm = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  played->id = pid;
  copy_comm(comm, played->comm);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  played->has_comm = pid != 0;
  pb_thread.fast_tid = 0;
}

}  // namespace
}  // namespace patchbay

using namespace patchbay;

PATCHBAY_API void patchbay_set_current(uint32_t pid, const char* comm) try {
  if (!g_agent) return;
  if (!pid && !pb_thread_block) return;
  ThreadBlock* block = thread_block();
  if (!block) return say_no_memory();
  PlayedTask* played = &block->played;
  play(played, pid, comm);
  if (!pid) return;
  EnteredTask* task = find_played(pid, played->comm);
  if (task && !task->pid.load(std::memory_order_relaxed)) enter_played(pid, played->comm);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

PATCHBAY_API void patchbay_task_forked(uint32_t parent, uint32_t child) try {
  AgentScope scope;
  if (g_agent) g_agent->registry->pid_lists().task_forked(parent, child);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

PATCHBAY_API void patchbay_task_exited(uint32_t pid) try {
  AgentScope scope;
  if (g_agent) g_agent->registry->pid_lists().task_exited(pid);
} catch (const std::bad_alloc&) {
  say_no_memory();
}
