// SPDX-License-Identifier: MIT
#include "attach/all_threads.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "attach/proc_text.h"
#include "attach/tracing.h"
#include "base/monotonic_clock.h"
#include "base/unique_fd.h"

namespace patchbay::attach {
namespace {

constexpr int kOneTryMs = 250;
constexpr int kBetweenTriesMs = 1;
constexpr int kLateMs = 1000;
constexpr size_t kStackBytes = 16 * 1024;  // a signal's frame with its vectors is well inside

// Where a thread's words may be: below the thread pointer what libraries have of their own, above
// it libc's description of the thread.
constexpr int64_t kMostTls = 16 << 20, kMostOfThread = 8192;

std::string task_directory(pid_t pid) { return "/proc/" + std::to_string(pid) + "/task"; }

// The numbers of a thread, ours first, that of its own namespace last.
struct TaskStatus {
  std::vector<pid_t> numbers;
};
TaskStatus status_of(pid_t pid, pid_t tid) {
  TaskStatus status;
  const auto file = read_file(task_directory(pid) + "/" + std::to_string(tid) + "/status");
  if (!file.ok()) return status;
  const std::string& text = file.value();
  if (const size_t at = text.find("\nNSpid:"); at != text.npos) {
    const char* number = text.c_str() + at + 7;
    while (*number == '\t' || *number == ' ') {
      char* after = nullptr;
      status.numbers.push_back(pid_t(std::strtol(number, &after, 10)));
      number = after;
    }
  }
  return status;
}

template <typename T>
bool take(std::string_view* from, uint32_t count, std::vector<T>* to) {
  if (count > from->size() / sizeof(T)) return false;
  to->resize(count);
  if (count) std::memcpy(to->data(), from->data(), count * sizeof(T));
  from->remove_prefix(count * sizeof(T));
  return true;
}

// Sorted, and those that meet as one.
std::vector<Range> sorted(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (range.start >= range.end) continue;
    if (!merged.empty() && range.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  }
  return merged;
}

// Bytes of the text between which no thread may stand.
std::vector<Range> displaced_ranges(const HookPlan& plan) {
  std::vector<Range> ranges;
  for (const abi::AttachHook& hook : plan.hooks)
    if (hook.displaced > 1) ranges.push_back({hook.address + 1, hook.address + hook.displaced});
  return sorted(std::move(ranges));
}

// Code in which none may stand.
std::vector<Range> kept_ranges(const HookPlan& plan) {
  std::vector<Range> ranges;
  for (const abi::AttachRange& range : plan.ranges) ranges.push_back({range.start, range.end});
  return sorted(std::move(ranges));
}

bool is_in(const std::vector<Range>& sorted, uint64_t address) {
  const auto behind =
      std::upper_bound(sorted.begin(), sorted.end(), address,
                       [](uint64_t value, const Range& range) { return value < range.start; });
  return behind != sorted.begin() && std::prev(behind)->contains(address);
}

// What is above a thread's stack pointer. A handler of a signal runs on top of what it has
// interrupted: the frame holds that place.
using StackWords = std::vector<uint64_t>;
void read_stack(const Target& target, uint64_t stack, StackWords* words) {
  words->resize(kStackBytes / sizeof(uint64_t));
  size_t size = kStackBytes;
  while (size > 512 && !target.read(stack, words->data(), size).ok()) size /= 2;
  words->resize(size / sizeof(uint64_t));
}

// A handler stands on code in one of these: the frame of a signal has the instruction pointer that
// was interrupted 168 bytes above its return address, which leads to `mov $15, %rax; syscall`.
bool handler_stands_on(const Target& target, const StackWords& words,
                       const std::vector<Range>& ranges) {
  constexpr size_t kInterrupted = 21;
  constexpr char kRestorer[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
  for (size_t i = 0; i + kInterrupted < words.size(); i++) {
    char code[sizeof kRestorer - 1] = {};
    if (is_in(ranges, words[i + kInterrupted]) && target.read(words[i], code, sizeof code).ok() &&
        std::memcmp(code, kRestorer, sizeof code) == 0)
      return true;
  }
  return false;
}

bool stack_leads_into(const StackWords& words, const std::vector<Range>& ranges) {
  if (ranges.empty()) return false;
  const Range all = {ranges.front().start, ranges.back().end};
  return std::any_of(words.begin(), words.end(),
                     [&](uint64_t word) { return all.contains(word) && is_in(ranges, word); });
}

}  // namespace

Result<pid_t> agent_thread(const Target& target, pid_t inner) {
  const pid_t pid = target.pid();
  pid_t found = 0;
  if (status_of(pid, pid).numbers.size() <= 1) {
    if (target.has_thread(inner)) found = inner;
  } else {
    for (const pid_t tid : target.threads()) {
      const TaskStatus status = status_of(pid, tid);
      if (!status.numbers.empty() && status.numbers.back() == inner) found = tid;
    }
  }
  if (found == pid)
    return user_error(EPROTO, "process " + std::to_string(pid) +
                                  " names its first thread for that of the agent: it plays one");
  if (found) return found;
  return user_error(ESRCH, "the agent's thread in process " + std::to_string(pid) + " has ended");
}

Result<HookPlan> HookPlan::parse(std::string_view body) {
  const Error damaged = user_error(EPROTO, "the agent asks for hooks in words that are not known");
  HookPlan plan;
  if (body.size() < sizeof plan.head) return damaged;
  std::memcpy(&plan.head, body.data(), sizeof plan.head);
  body.remove_prefix(sizeof plan.head);
  if (!take(&body, plan.head.nr_hooks, &plan.hooks) ||
      !take(&body, plan.head.nr_ranges, &plan.ranges) || !body.empty())
    return damaged;
  for (const abi::AttachHook& hook : plan.hooks)
    if (hook.size == 0 || hook.size > abi::kMaxHookBytes || hook.displaced > 2 * abi::kMaxHookBytes)
      return damaged;
  const abi::AttachHooks& head = plan.head;
  for (const int64_t offset : {head.blocked, head.blocked_with, head.open, head.held})
    if (offset > 0 || offset < -kMostTls) return damaged;
  for (const int64_t offset : {head.key_data, head.key_used})
    if (offset < 0 || offset > kMostOfThread) return damaged;
  return plan;
}

Result<std::unique_ptr<AllThreads>> AllThreads::stop(const Target& target, const HookPlan& plan,
                                                     int timeout_ms) {
  PB_ASSIGN(const pid_t own, agent_thread(target, plan.head.own_thread));
  return stop_without(target, own, plan, timeout_ms);
}

Result<std::unique_ptr<AllThreads>> AllThreads::stop_to_look(const Target& target, int timeout_ms) {
  HookPlan plan;
  plan.head.leaves = 1;  // what libc has blocked does not matter
  return stop_without(target, 0, plan, timeout_ms);
}

Result<std::unique_ptr<AllThreads>> AllThreads::stop_without(const Target& target, pid_t own,
                                                             const HookPlan& plan, int timeout_ms) {
  const int64_t end = monotonic_ms() + timeout_ms;
  std::unique_ptr<AllThreads> all(new AllThreads(target, own));
  std::optional<Error> in_the_way;
  for (;;) {
    const int64_t end_of_try = monotonic_ms() + kOneTryMs;
    Status stopped = all->stop_all(end_of_try);
    all->tries_++;
    if (stopped.ok()) stopped = all->clear_places(plan, end_of_try);
    if (stopped.ok()) return all;
    const int error = stopped.error().errno_value;
    if (error == EAGAIN) in_the_way = stopped.error();
    if (error != EAGAIN && error != ETIMEDOUT) return stopped.error();
    if (monotonic_ms() >= end) return in_the_way ? *in_the_way : stopped.error();
    PB_TRY(all->release());  // who has not stopped yet may do so until the next try
    std::this_thread::sleep_for(std::chrono::milliseconds(kBetweenTriesMs));
  }
}

AllThreads::~AllThreads() { (void)release(); }

std::vector<AllThreads::Standing> AllThreads::standing() const {
  std::vector<Standing> all;
  for (const Thread& thread : threads_)
    if (thread.tid != 0)
      all.push_back({thread.tid, thread.registers,
                     // One whose answer is repaired is about to make its call again.
                     long(thread.is_repaired ? thread.registers.rax : thread.registers.orig_rax)});
  return all;
}

// A thread that has not stopped yet may make another one: only when all stand still the list is
// complete.
Status AllThreads::stop_all(int64_t end) {
  for (;;) {
    PB_ASSIGN(const bool any, seize_new());
    if (!any) break;
    PB_TRY(wait_for_all(end));
    if (monotonic_ms() >= end)
      return user_error(ETIMEDOUT, "process " + std::to_string(pid_) +
                                       " makes threads faster than they can be stopped");
  }
  // When a thread executes another program, the agent's is gone.
  if (has_executed() || (own_ != 0 && !target_.has_thread(own_)))
    return user_error(
        ESRCH, "process " + std::to_string(pid_) + " has ended, or executes another program");
  return target_.is_same();
}

// A thread that executes a program takes the first one's number, and what we knew of that one is
// not true of it. It stands before its first instruction then, and nobody has waited for that stop.
bool AllThreads::has_executed() const {
  siginfo_t found = {};
  return is_another_ ||
         (::waitid(P_PID, id_t(pid_), &found, WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
          found.si_pid == pid_ && found.si_status >> 8 == PTRACE_EVENT_EXEC);
}

// While a thread is traced, a signal for it that the program ignores is not dropped. It wakes the
// thread; or, while that stands, any other one of the process, whose wait answers EINTR. When that
// one is traced, too, its answer is repaired; when it is not, its program sees it. So a thread that
// draws such signals is traced later than all others, and no longer than they are:
//
//   3  it has children: their ends are signals for the thread that has made them
//   2  it runs: it may make a child before it stands, and what does not wait sees no EINTR
//   1  the first thread: what is sent to the process (a window's new size) is for it
//   0  all others
int AllThreads::signal_rank(pid_t pid, pid_t tid) {
  const long call = system_call_of(pid, tid);
  if (has_children(pid, tid) || is_about_children(call)) return 3;
  if (call == kNoCall) return 2;
  return tid == pid ? 1 : 0;
}

Result<bool> AllThreads::seize_new() {
  bool any = std::any_of(threads_.begin(), threads_.end(),
                         [](const Thread& thread) { return !thread.is_stopped; });
  std::unordered_set<pid_t> known;
  for (const Thread& thread : threads_) known.insert(thread.tid);
  std::vector<std::pair<int, pid_t>> fresh;  // those that draw signals last
  for (const pid_t tid : target_.threads())
    if (tid != own_ && known.insert(tid).second) fresh.emplace_back(signal_rank(pid_, tid), tid);
  std::sort(fresh.begin(), fresh.end());
  if (threads_.empty()) since_ns_ = monotonic_ns();
  for (const auto& [rank, tid] : fresh) {
    const Status seized = seize(pid_, tid, PTRACE_O_TRACEEXEC);
    if (!seized.ok()) {
      if (has_ended(pid_, tid)) continue;
      return seized.error();
    }
    threads_.push_back({.tid = tid, .signal_rank = rank});
    any = true;
    (void)trace(PTRACE_INTERRUPT, tid, 0, nullptr, "stop");
  }
  return any;
}

Status AllThreads::wait_for_all(int64_t end) {
  constexpr int kSpins = 20, kNapUs = 50;
  for (int spins = 0;; spins++) {
    const Thread* late = nullptr;
    for (Thread& thread : threads_) {
      if (thread.is_stopped || thread.tid == 0) continue;
      PB_ASSIGN(const bool stopped, is_stopped(thread));
      // While others run one of them may execute a program and take the first one's number.
      thread.is_new |= stopped;
      if (stopped && thread.tid != pid_) PB_TRY(look_at(thread));
      if (!thread.is_stopped && thread.tid != 0) late = &thread;
    }
    if (!late) break;
    if (monotonic_ms() >= end)
      return user_error(ETIMEDOUT, thread_name(late->tid) +
                                       " does not stop: it is in the kernel and cannot be "
                                       "interrupted (vfork, a device, a file system)");
    if (spins > kSpins) std::this_thread::sleep_for(std::chrono::microseconds(kNapUs));
  }
  for (Thread& thread : threads_)
    if (std::exchange(thread.is_new, false) && thread.tid == pid_) {
      if (has_executed()) return target_.is_same();
      PB_TRY(look_at(thread));
    }
  std::erase_if(threads_, [](const Thread& thread) { return thread.tid == 0; });
  return {};
}

// Of all stops only PTRACE_EVENT_STOP is ours: a signal is the program's, and is passed on. A
// thread that has ended gets the number 0.
Result<bool> AllThreads::is_stopped(Thread& thread) {
  int status = 0;
  const pid_t found = ::waitpid(thread.tid, &status, __WALL | WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return false;
  if (found < 0 || !WIFSTOPPED(status)) {
    thread.tid = 0;
    return false;
  }
  const int signal = WSTOPSIG(status);
  if (status >> 16 == PTRACE_EVENT_EXEC) {
    is_another_ = thread.is_stopped = true;
    PB_TRY(target_.is_same());
    return user_error(ESRCH, "process " + std::to_string(pid_) + " executes another program");
  }
  if (status >> 16 != PTRACE_EVENT_STOP) {
    (void)trace(PTRACE_CONT, thread.tid, 0, reinterpret_cast<void*>(long{signal}), "continue");
    return false;
  }
  thread.is_stopped = true;
  if (signal == SIGTRAP) return true;
  return user_error(EBUSY, "process " + std::to_string(pid_) + " is stopped (" + strsignal(signal) +
                               "): let it go on first, kill -CONT");
}

Status AllThreads::look_at(Thread& thread) {
  PB_TRY(target_.is_thread_same(thread.tid));
  Status seen = get_registers(thread.tid, &thread.registers);
  if (seen.ok()) seen = get_mask(thread.tid, &thread.mask);
  if (seen.ok()) {
    thread.is_repaired = repair_answer(thread.tid, thread.mask, &thread.registers);
    if (thread.is_repaired) seen = set_registers(thread.tid, thread.registers);
    if (thread.is_repaired && seen.ok()) seen = set_mask(thread.tid, thread.mask);
  }
  if (seen.ok() || seen.error().errno_value != ESRCH) return seen;
  thread.tid = 0;  // killed
  return {};
}

// Those that run in the way go on for a moment, while the others stand: that all of a hundred
// threads are elsewhere by chance may never happen.
Status AllThreads::clear_places(const HookPlan& plan, int64_t end_of_try) {
  constexpr int kClearMs = 10, kMomentUs = 50;
  const int64_t end = std::min(monotonic_ms() + kClearMs, end_of_try);
  for (;;) {
    std::vector<pid_t> in_the_way;
    const Status clear = check_places(plan, &in_the_way);
    if (in_the_way.empty() || monotonic_ms() >= end) return clear;
    for (Thread& thread : threads_) {
      if (std::find(in_the_way.begin(), in_the_way.end(), thread.tid) == in_the_way.end()) continue;
      if (trace(PTRACE_CONT, thread.tid, 0, nullptr, "continue").ok()) thread.is_stopped = false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(kMomentUs));
    for (const pid_t tid : in_the_way) (void)trace(PTRACE_INTERRUPT, tid, 0, nullptr, "stop");
    PB_TRY(stop_all(end_of_try));
  }
}

// `in_the_way`: those that may soon be elsewhere. A wait that would answer EINTR is not disturbed.
Status AllThreads::check_places(const HookPlan& plan, std::vector<pid_t>* in_the_way) const {
  const std::vector<Range> displaced = displaced_ranges(plan), kept = kept_ranges(plan);
  StackWords words;
  Status clear;
  const auto stands = [&](const Thread& thread, const char* where) {
    if (clear.ok()) clear = user_error(EAGAIN, thread_name(thread.tid) + where);
  };
  for (const Thread& thread : threads_) {
    // A program cannot block 32 and 33 by libc: libc has blocked all signals for a moment, and will
    // put back a mask that it has kept. A program that has done it by itself is not waited for.
    constexpr uint64_t kOfLibc = uint64_t{3} << 31;
    constexpr int kTriesForLibc = 20;
    if (!plan.head.leaves && (thread.mask & kOfLibc) && tries_ < kTriesForLibc) {
      stands(thread, " is where libc has blocked all signals");
      continue;
    }
    const uint64_t at = thread.registers.rip;
    bool is_there = is_in(kept, at) || is_in(displaced, at);
    if (!is_there && (!kept.empty() || !displaced.empty())) {
      read_stack(target_, thread.registers.rsp, &words);
      is_there = stack_leads_into(words, displaced) || handler_stands_on(target_, words, kept);
    }
    if (is_there) {
      stands(thread, " stands in code that is to be changed, again and again");
      if (!thread.is_repaired) in_the_way->push_back(thread.tid);
    }
  }
  return clear;
}

Status AllThreads::check_bytes(const HookPlan& plan) const {
  for (const abi::AttachHook& hook : plan.hooks) {
    uint8_t found[abi::kMaxHookBytes];
    PB_TRY(target_.read(hook.address, found, hook.size));
    if (std::memcmp(found, hook.old_bytes, hook.size) == 0) continue;
    return user_error(EBUSY, "somebody else has changed the code of process " +
                                 std::to_string(pid_) + " where a hook is to be: a debugger?");
  }
  return {};
}

Status AllThreads::apply(const HookPlan& plan) {
  Status done = target_.is_same();
  if (done.ok()) done = check_bytes(plan);
  if (done.ok() && !plan.head.leaves) done = change_threads(plan.head);
  for (size_t i = 0; done.ok() && i < plan.hooks.size(); i++) {
    const abi::AttachHook& hook = plan.hooks[i];
    done = change(hook.address, hook.new_bytes, hook.size);
  }
  if (done.ok() && plan.head.leaves) done = change_threads(plan.head);
  if (!done.ok()) undo();
  return done;
}

Status AllThreads::change_threads(const abi::AttachHooks& head) {
  for (const Thread& thread : threads_) {
    const Status changed = change_thread(thread, head);
    if (!changed.ok() && changed.error().errno_value != ESRCH) return changed;  // else: killed
  }
  return {};
}

Status AllThreads::change(uint64_t address, const void* bytes, size_t size) {
  Change change = {address, size};
  PB_TRY(target_.read(address, change.old_bytes, size));
  changes_.push_back(change);
  return target_.write(address, bytes, size);
}

Status AllThreads::change_thread(const Thread& thread, const abi::AttachHooks& head) {
  const uint64_t base = thread.registers.fs_base;
  if (!base) return {};
  if (head.open) {
    const uint8_t open = !head.leaves;
    PB_TRY(change(base + uint64_t(head.open), &open, sizeof open));
  }
  if (!head.leaves) PB_TRY(give_key(base, head));
  if (head.leaves) PB_TRY(take_held(thread, head));
  if (!head.blocked) return {};
  if (!head.leaves) {
    if (!(thread.mask & head.signals)) return {};
    return set_blocked(thread, head, thread.mask & ~head.signals, thread.mask & head.signals,
                       thread.mask & head.others);
  }
  uint64_t blocked = 0;
  PB_TRY(target_.read(base + uint64_t(head.blocked), &blocked, sizeof blocked));
  return blocked ? set_blocked(thread, head, thread.mask | blocked, 0, 0) : Status();
}

// A thread that was made before the agent came has no value for the key whose destructor tells the
// agent that the thread ends. libc asks for it under no lock, and the thread stands still.
Status AllThreads::give_key(uint64_t base, const abi::AttachHooks& head) {
  uint64_t self[3] = {}, key[2] = {};
  if (!head.key_data) return {};
  PB_TRY(target_.read(base, self, sizeof self));
  if (self[0] != base || self[2] != base) return {};  // not of libc's making
  PB_TRY(target_.read(base + uint64_t(head.key_data), key, sizeof key));
  if (key[0] == head.key_sequence && key[1]) return {};
  key[0] = head.key_sequence, key[1] = head.key_value;
  const uint8_t used = 1;
  PB_TRY(change(base + uint64_t(head.key_data), key, sizeof key));
  return change(base + uint64_t(head.key_used), &used, sizeof used);
}

Status AllThreads::take_held(const Thread& thread, const abi::AttachHooks& head) {
  const uint64_t at = thread.registers.fs_base + uint64_t(head.held);
  uint16_t signals = 0;
  if (!head.held) return {};
  PB_TRY(target_.read(at, &signals, sizeof signals));
  const TaskStatus status = signals ? status_of(pid_, thread.tid) : TaskStatus();
  if (status.numbers.empty() || held_.size() >= abi::kMaxHeld) return {};
  held_.push_back({status.numbers.back(), signals});
  const uint16_t none = 0;
  return change(at, &none, sizeof none);
}

Status AllThreads::set_blocked(const Thread& thread, const abi::AttachHooks& head, uint64_t mask,
                               uint64_t blocked, uint64_t blocked_with) {
  const uint64_t base = thread.registers.fs_base;
  mask_changes_.push_back({thread.tid, thread.mask});
  // What the program believes is never lost: a tool that is killed in between has left it in the
  // words, in the mask, or in both.
  if (head.leaves) PB_TRY(set_mask(thread.tid, mask));
  PB_TRY(change(base + uint64_t(head.blocked), &blocked, sizeof blocked));
  if (head.blocked_with)
    PB_TRY(change(base + uint64_t(head.blocked_with), &blocked_with, sizeof blocked_with));
  return head.leaves ? Status() : set_mask(thread.tid, mask);
}

void AllThreads::undo() {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change)
    (void)target_.write(change->address, change->old_bytes, change->size);
  for (const MaskChange& change : mask_changes_) (void)set_mask(change.tid, change.old_mask);
  changes_.clear();
  mask_changes_.clear();
  held_.clear();
}

Status AllThreads::let_go(Thread& thread) {
  if (thread.is_repaired && !is_another_ && has_deliverable_signal(thread.tid, thread.mask)) {
    take_back_repair(&thread.registers);
    PB_TRY(set_registers(thread.tid, thread.registers));
  }
  return trace(PTRACE_DETACH, thread.tid, 0, nullptr, "let go");
}

// A thread that was told to stop and has not yet may have its EINTR already: it is waited for while
// the others go on. One that stays in the kernel cannot be detached; the kernel does so when the
// thread that has made this object ends.
//
// Those that draw signals go first (signal_rank), and of them those whose waits would answer EINTR
// last.
Status AllThreads::release() {
  Status first;
  is_another_ = has_executed();
  constexpr size_t kMostAsked = 256;  // they all stand: what was so before the stop does for more
  if (threads_.size() <= kMostAsked)
    for (Thread& thread : threads_)
      if (thread.tid != 0 && has_children(pid_, thread.tid)) thread.signal_rank = 3;
  std::stable_sort(threads_.begin(), threads_.end(), [](const Thread& one, const Thread& other) {
    return std::pair(-one.signal_rank, one.is_repaired) <
           std::pair(-other.signal_rank, other.is_repaired);
  });
  const bool any_late = std::any_of(threads_.begin(), threads_.end(), [](const Thread& thread) {
    return thread.tid != 0 && !thread.is_stopped;
  });
  std::vector<Thread> late;
  for (Thread& thread : threads_) {
    if (thread.tid == 0) continue;
    // The first thread's registers are not set while another one may execute a program.
    if (!thread.is_stopped || (thread.tid == pid_ && thread.is_repaired && any_late)) {
      late.push_back(thread);
      continue;
    }
    Status let = let_go(thread);
    if (first.ok() && !let.ok() && let.error().errno_value != ESRCH) first = let;
  }
  threads_ = std::move(late);
  if (!threads_.empty() && wait_for_all(monotonic_ms() + kLateMs).ok()) return release();
  return first;
}

}  // namespace patchbay::attach
