// SPDX-License-Identifier: MIT
#include "attach/stopped_thread.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "attach/proc_text.h"

namespace patchbay::attach {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStepTimeoutMs = 1000;
// For a system call of ours; none of them waits, but its thread may have no processor (a control
// group whose time is used up). To wait then costs the thread nothing.
constexpr int kCallTimeoutMs = 10'000;
// What libc sends to each thread, for a setuid() of the program or a cancellation: 32 and 33.
constexpr uint64_t kOfLibc = uint64_t{3} << 31;
constexpr bool is_of_libc(int signal) { return signal == 32 || signal == 33; }
constexpr uint64_t kTrapFlag = 1 << 8, kDirectionFlag = 1 << 10;
constexpr unsigned kRseqConfiguration = 0x420f;  // PTRACE_GET_RSEQ_CONFIGURATION
constexpr uint64_t kRedZone = 128;
constexpr uint64_t kRoomBelowFrame = 4096;

// One that did not stop in time cannot be let go, either: it is traced by us still.
bool is_traced_by_us(pid_t tid) {
  siginfo_t info = {};
  return ::waitid(P_PID, id_t(tid), &info, WEXITED | WSTOPPED | __WALL | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

Result<std::unique_ptr<StoppedThread>> StoppedThread::stop(const Target& target, pid_t tid,
                                                           int timeout_ms) {
  std::unique_ptr<StoppedThread> thread(new StoppedThread(target, tid));
  constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
  const Status seized = seize(target.pid(), tid, kOptions);
  if (!seized.ok() && has_ended(target.pid(), tid))
    return user_error(ESRCH, thread_name(tid) + " has ended");
  if (!seized.ok() && !is_traced_by_us(tid)) return seized.error();
  thread->attached_ = true;
  PB_TRY(trace(PTRACE_INTERRUPT, tid, 0, nullptr, "stop"));
  PB_TRY(thread->wait_for_first_stop(timeout_ms));
  // Before its registers are looked at: from here on it can execute no program unseen.
  PB_TRY(target.is_thread_same(tid));
  PB_TRY(target.is_same());
  PB_TRY(thread->save());
  if (thread->in_restartable_sequence())
    return user_error(EAGAIN, thread_name(tid) + " stands in a restartable sequence");
  return thread;
}

StoppedThread::~StoppedThread() { (void)release(); }

Status StoppedThread::wait_stop(int* status, int timeout_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (int spins = 0;; spins++) {
    const pid_t found = ::waitpid(tid_, status, __WALL | WNOHANG);
    if (found < 0 && errno != EINTR) return sys_error("wait for " + thread_name(tid_), errno);
    if (found == tid_) {
      if (WIFSTOPPED(*status) && *status >> 16 == PTRACE_EVENT_EXEC) return has_executed();
      if (WIFSTOPPED(*status)) return {};
      attached_ = false;
      return user_error(ESRCH, thread_name(tid_) + " has ended");
    }
    if (Clock::now() >= end)
      return user_error(ETIMEDOUT, thread_name(tid_) +
                                       " does not stop: it is in the kernel and cannot "
                                       "be interrupted");
    if (spins > 200) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// It stands before the first instruction of another program, of which nothing is ours.
Status StoppedThread::has_executed() {
  is_another_ = true;
  is_saved_ = is_blocked_ = runs_ = is_in_system_call_ = false;
  frame_ = {};
  owed_signal_ = 0;
  return user_error(ESRCH, "process " + std::to_string(pid_) + " executes another program");
}

// Of all stops only PTRACE_EVENT_STOP is ours. A signal is the program's: it is passed on. While
// our code runs in the thread only SIGSTOP comes, which no mask keeps away: it waits until the
// thread is its program's again.
Status StoppedThread::wait_for_first_stop(int timeout_ms) {
  for (;;) {
    int status = 0;
    PB_TRY(wait_stop(&status, timeout_ms));
    int signal = WSTOPSIG(status);
    if (status >> 16 == PTRACE_EVENT_STOP) {
      if (signal == SIGTRAP || is_saved_) return {};
      return user_error(EBUSY, "process " + std::to_string(pid_) + " is stopped (" +
                                   strsignal(signal) + "): let it go on first, kill -CONT");
    }
    if (is_saved_ && !is_of_libc(signal)) owed_signal_ = std::exchange(signal, 0);
    // The thread is about to be restored, which would undo a handler: the kernel keeps a signal
    // that is blocked now until its mask is the program's again.
    if (is_saved_ && is_of_libc(signal)) PB_TRY(set_mask(tid_, ~uint64_t{0}));
    PB_TRY(trace(PTRACE_CONT, tid_, 0, reinterpret_cast<void*>(long{signal}), "continue"));
  }
}

Status StoppedThread::save() {
  PB_TRY(get_registers(tid_, &saved_));
  PB_TRY(get_mask(tid_, &saved_mask_));
  call_at_stop_ = long(saved_.orig_rax);
  repaired_ = repair_answer(tid_, saved_mask_, &saved_);
  // At once: from here on the answer is right even if the tool is killed.
  if (repaired_) PB_TRY(set_registers(tid_, saved_));
  if (repaired_) PB_TRY(set_mask(tid_, saved_mask_));
  saved_vectors_.resize(1 << 14);
  iovec vectors = {saved_vectors_.data(), saved_vectors_.size()};
  PB_TRY(trace(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &vectors, "read the vector state of"));
  saved_vectors_.resize(vectors.iov_len);
  is_saved_ = true;
  return {};
}

// The kernel looks at the instruction pointer whenever a thread goes on: one that has been
// elsewhere would finish its sequence without being restarted.
bool StoppedThread::in_restartable_sequence() const {
  struct {
    uint64_t address;
    uint32_t size, signature, flags, padding;
  } rseq = {};
  if (::ptrace(static_cast<__ptrace_request>(kRseqConfiguration), tid_, sizeof rseq, &rseq) < 0 ||
      !rseq.address)
    return false;
  constexpr uint64_t kSequenceOffset = 8;  // of struct rseq
  struct {
    uint32_t version, flags;
    uint64_t start, length, abort;
  } sequence = {};
  uint64_t at = 0;
  if (!target_.read(rseq.address + kSequenceOffset, &at, sizeof at).ok() || !at) return false;
  if (!target_.read(at, &sequence, sizeof sequence).ok()) return false;
  return saved_.rip - sequence.start < sequence.length;
}

// With which the thread works for us: on the frame, when there is one.
user_regs_struct StoppedThread::working_registers() const {
  user_regs_struct registers = saved_;
  registers.orig_rax = kNoSystemCall;
  registers.eflags &= ~(kTrapFlag | kDirectionFlag);
  if (frame_.address) registers.rsp = frame_.address;
  return registers;
}

// Until the thread goes on no signal reaches it: what comes stays pending.
Status StoppedThread::block_signals() {
  if (is_blocked_) return {};
  is_blocked_ = true;
  return set_mask(tid_, ~uint64_t{0});
}

Status StoppedThread::guard(const Range& stack, uint64_t restorer) {
  if (!stack.contains(saved_.rsp))
    return user_error(EAGAIN, thread_name(tid_) + " does not stand on its stack");
  SignalFrame frame =
      signal_frame(saved_, saved_mask_, saved_vectors_, saved_.rsp - kRedZone, restorer);
  if (frame.address < stack.start + kRoomBelowFrame)
    return user_error(EAGAIN, thread_name(tid_) + " has no room on its stack");
  std::vector<uint8_t> old(frame.bytes.size());
  PB_TRY(target_.read(frame.address, old.data(), old.size()));
  PB_TRY(target_.write(frame.address, frame.bytes.data(), frame.bytes.size()));
  under_frame_ = std::move(old);
  frame_ = std::move(frame);
  // The registers come before the mask: who goes on with them restores both.
  user_regs_struct registers = working_registers();
  registers.rip = restorer;
  registers.rsp = frame_stack();
  PB_TRY(set_registers(tid_, registers));
  return block_signals();
}

Status StoppedThread::go_to_system_call_stop() {
  constexpr int kSystemCallStop = SIGTRAP | 0x80;
  for (;;) {
    PB_TRY(trace(PTRACE_SYSCALL, tid_, 0, nullptr, "continue"));
    int status = 0;
    if (const Status stopped = wait_stop(&status, kCallTimeoutMs); !stopped.ok())
      return stopped.error().errno_value == ETIMEDOUT ? lose() : stopped;
    const int signal = WSTOPSIG(status);
    if (signal == kSystemCallStop) return {};
    if (status >> 16 == PTRACE_EVENT_STOP) continue;  // its process is being stopped
    if (signal != SIGSTOP)
      return user_error(EPROTO, thread_name(tid_) + " stopped with signal " +
                                    std::to_string(signal) + " in a system call of ours");
    owed_signal_ = signal;
  }
}

// It runs, or will, with registers of ours: at the end of the system call it returns to its frame,
// which must stay as it is. Who reads or writes it now may meet it anywhere.
Status StoppedThread::lose() {
  is_lost_ = true;
  return user_error(EDEADLK, thread_name(tid_) + " was given no processor for " +
                                 std::to_string(kCallTimeoutMs / 1000) +
                                 " seconds: it has been let go, try again");
}

Result<long> StoppedThread::system_call(uint64_t instruction, long number, long a, long b, long c,
                                        long d, long e, long f) {
  if (runs_) PB_TRY(fetch(kStepTimeoutMs));  // a stop may wait that tells of another program
  if (is_another_) return has_executed().error();
  if (is_lost_) return lose().error();
  PB_TRY(block_signals());
  user_regs_struct registers = working_registers();
  registers.rip = instruction;
  registers.rax = uint64_t(number);
  registers.rdi = uint64_t(a), registers.rsi = uint64_t(b), registers.rdx = uint64_t(c);
  registers.r10 = uint64_t(d), registers.r8 = uint64_t(e), registers.r9 = uint64_t(f);
  PB_TRY(set_registers(tid_, registers));
  is_in_system_call_ = true;
  PB_TRY(go_to_system_call_stop());  // its entry
  PB_TRY(go_to_system_call_stop());  // its exit
  PB_TRY(get_registers(tid_, &registers));
  return long(registers.rax);
}

Status StoppedThread::interrupt(int timeout_ms) {
  PB_TRY(trace(PTRACE_INTERRUPT, tid_, 0, nullptr, "stop"));
  return wait_for_first_stop(timeout_ms);
}

Status StoppedThread::start(uint64_t code, uint64_t stack, uint64_t argument) {
  if (is_another_) return has_executed();
  if (is_lost_) return lose();
  PB_TRY(block_signals());
  user_regs_struct registers = working_registers();
  registers.rip = code;
  registers.rsp = stack;
  registers.rbx = argument;
  PB_TRY(set_registers(tid_, registers));
  // A thread that calls setuid() waits for this one, with the lock of the list of threads. Here a
  // thread is made, and so waits for that lock. The one that is made has the same mask.
  PB_TRY(set_mask(tid_, ~(kOfLibc & ~saved_mask_)));
  code_ = code;
  is_in_system_call_ = false;
  runs_ = true;
  return trace(PTRACE_CONT, tid_, 0, nullptr, "continue");
}

Status StoppedThread::still_runs() {
  int status = 0;
  const pid_t found = ::waitpid(tid_, &status, __WALL | WNOHANG);
  if (found != tid_) return {};
  if (!WIFSTOPPED(status)) {
    attached_ = false;
    return user_error(ESRCH, thread_name(tid_) + " has ended");
  }
  const int signal = WSTOPSIG(status);
  if (status >> 16 == PTRACE_EVENT_EXEC) return has_executed();
  if (status >> 16 != PTRACE_EVENT_STOP && is_of_libc(signal))
    return trace(PTRACE_CONT, tid_, 0, reinterpret_cast<void*>(long{signal}), "continue");
  if (status >> 16 != PTRACE_EVENT_STOP && signal != SIGSTOP) {
    runs_ = false;
    return user_error(EFAULT, thread_name(tid_) + " met a signal (" + strsignal(signal) +
                                  ") while it made a thread for us");
  }
  if (signal == SIGSTOP) owed_signal_ = status >> 16 ? owed_signal_ : signal;
  return trace(PTRACE_CONT, tid_, 0, nullptr, "continue");
}

Status StoppedThread::fetch(int timeout_ms) {
  constexpr uint64_t kCodeBytes = 4096;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    if (is_another_) return has_executed();
    PB_TRY(interrupt(timeout_ms));
    user_regs_struct registers;
    PB_TRY(get_registers(tid_, &registers));
    // Not in the middle of a handler of libc's, which somebody waits for.
    if (registers.rip - code_ < kCodeBytes || Clock::now() >= end) break;
    PB_TRY(trace(PTRACE_CONT, tid_, 0, nullptr, "continue"));
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  runs_ = false;
  return set_mask(tid_, ~uint64_t{0});
}

Status StoppedThread::leave() {
  if (!attached_) return {};
  if (runs_) PB_TRY(interrupt(kStepTimeoutMs));
  runs_ = false;
  if (is_another_) return detach();
  // It goes on in our code: libc's signals are open there.
  PB_TRY(set_mask(tid_, ~(kOfLibc & ~saved_mask_)));
  is_saved_ = false;
  user_regs_struct registers;
  uint64_t mask = 0;
  PB_TRY(get_registers(tid_, &registers));
  PB_TRY(get_mask(tid_, &mask));
  if (repair_answer(tid_, mask, &registers)) {
    PB_TRY(set_registers(tid_, registers));
    PB_TRY(set_mask(tid_, mask));
  }
  return detach();
}

// Behind PTRACE_EVENT_STOP, and nowhere else, the kernel looks whether the system call that the
// registers speak of has to be restarted. So a thread that has made system calls goes from the exit
// of the last one into such a stop, without a step of its own.
Status StoppedThread::leave_system_call() {
  is_in_system_call_ = false;
  PB_TRY(trace(PTRACE_INTERRUPT, tid_, 0, nullptr, "stop"));
  PB_TRY(trace(PTRACE_CONT, tid_, 0, nullptr, "continue"));
  const Status stopped = wait_for_first_stop(kCallTimeoutMs);
  return !stopped.ok() && stopped.error().errno_value == ETIMEDOUT ? lose() : stopped;
}

// The registers come last: until then the thread would come back by its frame.
Status StoppedThread::restore() {
  if (!attached_ || !is_saved_) return {};
  Status first;
  const auto keep = [&first](Status status) {
    if (first.ok()) first = std::move(status);
  };
  if (runs_) keep(fetch(kStepTimeoutMs));
  if (is_in_system_call_ && !is_lost_) keep(leave_system_call());
  // Another program; or out of reach, where its frame restores it.
  if (is_another_ || !attached_ || runs_ || (is_lost_ && frame_.address)) return first;
  if (repaired_ && has_deliverable_signal(tid_, saved_mask_)) take_back_repair(&saved_);
  if (is_blocked_) keep(set_mask(tid_, saved_mask_));
  iovec vectors = {saved_vectors_.data(), saved_vectors_.size()};
  keep(trace(PTRACE_SETREGSET, tid_, NT_X86_XSTATE, &vectors, "restore the vector state of"));
  keep(set_registers(tid_, saved_));
  if (frame_.address) keep(target_.write(frame_.address, under_frame_.data(), under_frame_.size()));
  is_saved_ = is_blocked_ = false;
  frame_ = {};
  return first;
}

Status StoppedThread::detach() {
  attached_ = false;
  // While it is traced its number is its own.
  if (owed_signal_) ::syscall(SYS_tgkill, pid_, tid_, owed_signal_);
  return trace(PTRACE_DETACH, tid_, 0, nullptr, "let go");
}

Status StoppedThread::release() {
  Status restored = restore();
  if (!attached_) return restored;
  Status let_go = detach();
  return restored.ok() ? let_go : restored;
}

}  // namespace patchbay::attach
