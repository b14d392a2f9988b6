// SPDX-License-Identifier: MIT
#include "attach/tracing.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "attach/proc_text.h"
#include "base/unique_fd.h"

namespace patchbay::attach {
namespace {

int g_steps_to_live = -1;

// System calls that answer EINTR to a mere stop, without a signal: the kernel does not restart
// them, and the program would see an error that nobody has caused. Of sockets it is those with a
// timeout (SO_RCVTIMEO, SO_SNDTIMEO); select() and its like do so when they cannot write the rest
// of the time into the program's memory.
bool answers_eintr_to_a_stop(uint64_t number) {
  switch (number) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_io_uring_enter:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_read:
    case SYS_readv:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_select:
    case SYS_pselect6:
    case SYS_ppoll:
      return true;
    default:
      return false;
  }
}

constexpr uint64_t bit_of(int signal) { return uint64_t{1} << (signal - 1); }

// Of a thread that is stopped; all of them when that is not known. Some signals come without a
// record of their own only when the kernel has no memory.
uint64_t pending_signals(pid_t tid) {
  constexpr int kAtOnce = 32;
  uint64_t pending = 0;
  for (const uint32_t queue : {0u, uint32_t{PTRACE_PEEKSIGINFO_SHARED}}) {
    siginfo_t records[kAtOnce];
    __ptrace_peeksiginfo_args which = {0, queue, kAtOnce};
    for (;;) {
      const long count =
          ::ptrace(static_cast<__ptrace_request>(PTRACE_PEEKSIGINFO), tid, &which, records);
      if (count < 0) return ~uint64_t{0};
      for (long i = 0; i < count; i++) pending |= bit_of(records[i].si_signo);
      if (count < kAtOnce) break;
      which.off += uint64_t(count);
    }
  }
  return pending;
}

// A thread that is traced gets even these, and goes on with nothing done: without us it would not
// have been woken.
uint64_t ignored_signals(pid_t tid) {
  constexpr uint64_t kByDefault =
      bit_of(SIGCHLD) | bit_of(SIGCONT) | bit_of(SIGURG) | bit_of(SIGWINCH);
  const auto status = read_file("/proc/" + std::to_string(tid) + "/status");
  if (!status.ok()) return 0;
  const auto set = [&](const char* name) {
    const size_t at = status.value().find(name);
    return at == std::string::npos
               ? 0
               : std::strtoull(status.value().c_str() + at + std::strlen(name), nullptr, 16);
  };
  return set("\nSigIgn:") | (kByDefault & ~set("\nSigCgt:"));
}

}  // namespace

void set_steps_to_live(int steps) { g_steps_to_live = steps; }

int steps_left() { return g_steps_to_live; }

void count_step() {
  if (g_steps_to_live >= 0 && g_steps_to_live-- == 0) ::raise(SIGKILL);
}

std::string thread_name(pid_t tid) { return "thread " + std::to_string(tid); }

Status trace(int request, pid_t tid, uint64_t address, void* data, const char* what) {
  count_step();
  if (::ptrace(static_cast<__ptrace_request>(request), tid, reinterpret_cast<void*>(address),
               data) < 0)
    return sys_error(std::string(what) + " " + thread_name(tid), errno);
  return {};
}

Status seize(pid_t pid, pid_t tid, long options) {
  constexpr int kTries = 1000;
  for (int i = 0;; i++) {
    Status seized = trace(PTRACE_SEIZE, tid, 0, reinterpret_cast<void*>(options), "trace");
    if (seized.ok() || seized.error().errno_value != EPERM || i == kTries) return seized;
    if (has_ended(pid, tid)) return seized;
    const std::string status = read_text("/proc/" + std::to_string(pid) + "/task/" +
                                         std::to_string(tid) + "/status")
                                   .value_or("");
    const std::string tracer = status_field(status, "TracerPid");
    // "0": it has been let go meanwhile.
    if (tracer.empty() || tracer == std::to_string(::gettid())) return seized;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status get_registers(pid_t tid, user_regs_struct* registers) {
  iovec general = {registers, sizeof *registers};
  PB_TRY(trace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &general, "read the registers of"));
  if (general.iov_len != sizeof *registers)
    return user_error(ENOEXEC, thread_name(tid) + " runs 32-bit code");
  return {};
}

Status set_registers(pid_t tid, const user_regs_struct& registers) {
  iovec general = {const_cast<user_regs_struct*>(&registers), sizeof registers};
  return trace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &general, "set the registers of");
}

Status get_mask(pid_t tid, uint64_t* mask) {
  return trace(PTRACE_GETSIGMASK, tid, sizeof *mask, mask, "read the mask of");
}

Status set_mask(pid_t tid, uint64_t mask) {
  return trace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask, "set the mask of");
}

Status read_memory(pid_t pid, uint64_t address, void* out, size_t size) {
  const iovec local = {out, size}, remote = {reinterpret_cast<void*>(address), size};
  const ssize_t moved = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (moved == ssize_t(size)) return {};
  return sys_error("read memory of process " + std::to_string(pid), moved < 0 ? errno : EFAULT);
}

bool has_deliverable_signal(pid_t tid, uint64_t mask) {
  const uint64_t pending = pending_signals(tid) & ~mask;
  return pending && (pending & ~ignored_signals(tid));
}

void take_back_repair(user_regs_struct* registers) {
  registers->rip += kSyscallLength;
  registers->rax = uint64_t(-EINTR);
}

bool repair_answer(pid_t tid, uint64_t mask, user_regs_struct* registers) {
  if (long(registers->orig_rax) < 0 || long(registers->rax) != -EINTR ||
      !answers_eintr_to_a_stop(registers->orig_rax))
    return false;
  if (has_deliverable_signal(tid, mask)) return false;
  registers->rip -= kSyscallLength;
  registers->rax = registers->orig_rax;
  registers->orig_rax = kNoSystemCall;  // nothing is left to be restarted
  return true;
}

}  // namespace patchbay::attach
