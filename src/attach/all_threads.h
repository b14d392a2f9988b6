// SPDX-License-Identifier: MIT
//
// Phase C (docs/attach.md): all threads of a process but the agent's stand still for a moment, in
// which no code runs and the tool changes text, masks of signals and words of threads.
//
//   stop()  SEIZE all, INTERRUPT all, wait for all; again until /proc/PID/task shows nobody new
//           a thread stands where the text is about to change: it goes on for a moment; in the end
//           all go on, and once more after 1 ms
//   apply() old bytes are compared; masks, words, new bytes are written, or nothing
//   release()  what a stop has answered with EINTR is waited for again; all go on
//
// What the agent says is a wish, for it may be anybody's: only memory of the target is written, and
// only what HookPlan::parse() lets through. A process that has executed another program meanwhile
// is let go untouched.
//
// A tool that is killed lets all go on: each hook has been written as a whole or not at all. The
// thread that makes this object has to be the one that uses and destroys it, and should end soon
// afterwards: then the kernel lets go what could not be stopped.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "abi/attach_abi.h"
#include "attach/process_maps.h"
#include "attach/target.h"
#include "base/result.h"

namespace patchbay::attach {

// What an agent asks for: the body of AttachMessage::kHooks. Words that it wants written lie near
// the thread pointer, and its thread is none that the process had before it: EPROTO.
struct HookPlan {
  abi::AttachHooks head = {};
  std::vector<abi::AttachHook> hooks;
  std::vector<abi::AttachRange> ranges;

  static Result<HookPlan> parse(std::string_view body);
};

// The agent's thread, as we number it. ESRCH: there is no such thread. EPROTO: it is the process's
// first one, which no agent has made.
Result<pid_t> agent_thread(const Target& target, pid_t inner);

class AllThreads {
 public:
  // The deadline is for all tries together; no single one keeps threads for longer than a quarter
  // of a second.
  static Result<std::unique_ptr<AllThreads>> stop(const Target& target, const HookPlan& plan,
                                                  int timeout_ms);
  ~AllThreads();
  AllThreads(const AllThreads&) = delete;
  AllThreads& operator=(const AllThreads&) = delete;

  // The same for a process without an agent of ours, to look at it: nothing is applied.
  static Result<std::unique_ptr<AllThreads>> stop_to_look(const Target& target, int timeout_ms);

  size_t size() const { return threads_.size(); }
  // Where each of them stands.
  struct Standing {
    pid_t tid = 0;
    user_regs_struct registers = {};
    long system_call = -1;  // -1: it is in none
  };
  std::vector<Standing> standing() const;
  // When the first of them was told to stop.
  uint64_t stopped_since_ns() const { return since_ns_; }

  // When it fails nothing is changed. With a detach the hooks go first: an agent whose hooks all
  // stand can go on when the tool is killed, because no thread is changed then.
  Status apply(const HookPlan& plan);
  // What apply() has found for the threads of a detach.
  const std::vector<abi::AttachHeld>& held() const { return held_; }
  // Takes back what apply() has done.
  void undo();
  // Lets all go on; the first error is returned. Nothing else may be called afterwards.
  Status release();

 private:
  struct Thread {
    pid_t tid = 0;
    bool is_stopped = false, is_repaired = false;
    bool is_new = false;  // it has just stopped, and was not looked at
    int signal_rank = 0;
    user_regs_struct registers = {};
    uint64_t mask = 0;
  };
  // What has been written, and what was there before.
  struct Change {
    uint64_t address = 0;
    size_t size = 0;
    uint8_t old_bytes[abi::kMaxHookBytes] = {};
  };
  struct MaskChange {
    pid_t tid;
    uint64_t old_mask;
  };

  AllThreads(const Target& target, pid_t own) : target_(target), pid_(target.pid()), own_(own) {}
  static Result<std::unique_ptr<AllThreads>> stop_without(const Target& target, pid_t own,
                                                          const HookPlan& plan, int timeout_ms);
  Status stop_all(int64_t end);
  static int signal_rank(pid_t pid, pid_t tid);
  Result<bool> seize_new();
  Status wait_for_all(int64_t end);
  Result<bool> is_stopped(Thread& thread);
  bool has_executed() const;
  Status look_at(Thread& thread);
  Status clear_places(const HookPlan& plan, int64_t end_of_try);
  Status check_places(const HookPlan& plan, std::vector<pid_t>* in_the_way) const;
  Status check_bytes(const HookPlan& plan) const;
  Status change_threads(const abi::AttachHooks& head);
  Status change_thread(const Thread& thread, const abi::AttachHooks& head);
  Status give_key(uint64_t base, const abi::AttachHooks& head);
  Status take_held(const Thread& thread, const abi::AttachHooks& head);
  Status set_blocked(const Thread& thread, const abi::AttachHooks& head, uint64_t mask,
                     uint64_t blocked, uint64_t blocked_with);
  Status change(uint64_t address, const void* bytes, size_t size);
  Status let_go(Thread& thread);

  const Target& target_;
  pid_t pid_, own_;
  bool is_another_ = false;  // a thread of ours has executed a program: it is let go as it is
  uint64_t since_ns_ = 0;
  int tries_ = 0;
  std::vector<Thread> threads_;
  std::vector<Change> changes_;
  std::vector<MaskChange> mask_changes_;
  std::vector<abi::AttachHeld> held_;
};

}  // namespace patchbay::attach
