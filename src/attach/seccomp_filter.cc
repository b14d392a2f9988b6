// SPDX-License-Identifier: MIT
#include "attach/seccomp_filter.h"

#include <linux/audit.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "attach/own_thread.h"
#include "attach/stopped_thread.h"
#include "attach/target_process.h"
#include "base/raw_syscall.h"
#include "base/unique_fd.h"

namespace patchbay::attach {
namespace {

constexpr uint64_t kSomeCode = 0x7f0000001000;  // of libc, as far as a filter can know
constexpr int kStopMs = 2000;
constexpr int kMostFilters = 1000;
constexpr uint64_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                  CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                                  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

// Those that the loader, the dynamic linker and the agent's thread were seen to make.
constexpr AgentCall kCalls[] = {
    {"mmap", SYS_mmap, true, {0, 4096, PROT_READ | PROT_EXEC}},
    {"munmap", SYS_munmap, true, {}},
    {"mprotect", SYS_mprotect, true, {0, 4096, PROT_READ}},
    {"clone", SYS_clone, true, {kThreadFlags, 0, 0}},
    {"clone3", SYS_clone3, false, {}},  // ENOSYS: libc takes clone
    {"futex", SYS_futex, true, {}},
    {"set_robust_list", SYS_set_robust_list, true, {}},
    {"rseq", SYS_rseq, true, {}},  // libc ends a program whose new thread it cannot register
    {"sched_yield", SYS_sched_yield, false, {}},
    {"getcpu", SYS_getcpu, false, {}},
    {"rt_sigprocmask", SYS_rt_sigprocmask, true, {}},
    {"rt_sigaction", SYS_rt_sigaction, true, {}},
    {"gettid", SYS_gettid, true, {}},
    {"getpid", SYS_getpid, true, {}},
    {"geteuid", SYS_geteuid, true, {}},
    {"openat", SYS_openat, true, {uint64_t(-100), 0, 0}},
    {"read", SYS_read, true, {}},
    {"pread64", SYS_pread64, true, {}},
    {"pwrite64", SYS_pwrite64, true, {}},
    {"fstat", SYS_fstat, true, {}},
    {"newfstatat", SYS_newfstatat, true, {}},
    {"close", SYS_close, true, {}},
    {"close_range", SYS_close_range, false, {}},
    {"getdents64", SYS_getdents64, true, {}},
    {"readlink", SYS_readlink, false, {}},
    {"mkdir", SYS_mkdir, true, {}},
    {"unlink", SYS_unlink, true, {}},
    {"rmdir", SYS_rmdir, true, {}},
    {"rename", SYS_rename, true, {}},
    {"fchmod", SYS_fchmod, false, {}},
    {"chmod", SYS_chmod, true, {}},
    {"umask", SYS_umask, false, {}},
    {"ftruncate", SYS_ftruncate, true, {}},
    {"fallocate", SYS_fallocate, false, {}},
    {"madvise", SYS_madvise, false, {}},
    {"socket", SYS_socket, true, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}},
    {"bind", SYS_bind, true, {}},
    {"listen", SYS_listen, true, {}},
    {"accept4", SYS_accept4, true, {}},
    {"getsockopt", SYS_getsockopt, true, {}},
    {"sendmsg", SYS_sendmsg, true, {}},
    {"recvmsg", SYS_recvmsg, true, {}},
    {"recvfrom", SYS_recvfrom, true, {}},
    {"poll", SYS_poll, true, {}},
    {"clock_gettime", SYS_clock_gettime, true, {}},
    {"clock_nanosleep", SYS_clock_nanosleep, true, {}},
    {"membarrier", SYS_membarrier, true, {}},
    {"process_vm_readv", SYS_process_vm_readv, false, {}},
    {"prctl", SYS_prctl, false, {PR_SET_NAME, 0, 0}},
    {"unshare", SYS_unshare, false, {CLONE_FILES, 0, 0}},
    {"tgkill", SYS_tgkill, false, {}},
    {"exit", SYS_exit, true, {}},
};

// --- the machine

struct Machine {
  uint32_t a = 0, x = 0;
  uint32_t memory[BPF_MEMWORDS] = {};
};

bool load(const sock_filter& insn, const seccomp_data& call, Machine* machine) {
  uint32_t& to = BPF_CLASS(insn.code) == BPF_LDX ? machine->x : machine->a;
  switch (BPF_MODE(insn.code)) {
    case BPF_ABS:
      if (insn.k % 4 != 0 || insn.k > sizeof call - sizeof to) return false;
      std::memcpy(&to, reinterpret_cast<const char*>(&call) + insn.k, sizeof to);
      return true;
    case BPF_LEN:
      to = sizeof call;
      return true;
    case BPF_IMM:
      to = insn.k;
      return true;
    case BPF_MEM:
      if (insn.k >= BPF_MEMWORDS) return false;
      to = machine->memory[insn.k];
      return true;
    default:
      return false;
  }
}

bool calculate(uint16_t code, uint32_t operand, uint32_t* a) {
  switch (BPF_OP(code)) {
    case BPF_ADD:
      return *a += operand, true;
    case BPF_SUB:
      return *a -= operand, true;
    case BPF_MUL:
      return *a *= operand, true;
    case BPF_DIV:  // by 0: the kernel ends the program with the answer 0, which kills
      return operand != 0 && (*a /= operand, true);
    case BPF_AND:
      return *a &= operand, true;
    case BPF_OR:
      return *a |= operand, true;
    case BPF_XOR:
      return *a ^= operand, true;
    case BPF_LSH:
      return *a <<= operand & 31, true;
    case BPF_RSH:
      return *a >>= operand & 31, true;
    case BPF_NEG:
      return *a = -*a, true;
    default:
      return false;
  }
}

// How many instructions are passed over; negative: it is no jump of a filter.
int64_t jump(const sock_filter& insn, uint32_t operand, uint32_t a) {
  switch (BPF_OP(insn.code)) {
    case BPF_JA:
      return insn.k;
    case BPF_JEQ:
      return a == operand ? insn.jt : insn.jf;
    case BPF_JGT:
      return a > operand ? insn.jt : insn.jf;
    case BPF_JGE:
      return a >= operand ? insn.jt : insn.jf;
    case BPF_JSET:
      return (a & operand) ? insn.jt : insn.jf;
    default:
      return -1;
  }
}

// The order of the kernel: killing is the strictest, allowing the least strict.
int32_t strictness(uint32_t answer) { return int32_t(answer & SECCOMP_RET_ACTION_FULL); }

}  // namespace

uint32_t run_filter(const SeccompFilter& filter, const seccomp_data& call) {
  Machine machine;
  for (size_t at = 0; at < filter.size(); at++) {  // jumps go forward only
    const sock_filter& insn = filter[at];
    const uint32_t operand = BPF_SRC(insn.code) == BPF_X ? machine.x : insn.k;
    int64_t over = 0;
    bool is_right = true;
    switch (BPF_CLASS(insn.code)) {
      case BPF_LD:
      case BPF_LDX:
        is_right = load(insn, call, &machine);
        break;
      case BPF_ST:
      case BPF_STX:
        is_right = insn.k < BPF_MEMWORDS;
        if (is_right)
          machine.memory[insn.k] = BPF_CLASS(insn.code) == BPF_ST ? machine.a : machine.x;
        break;
      case BPF_ALU:
        is_right = calculate(insn.code, operand, &machine.a);
        break;
      case BPF_JMP:
        is_right = (over = jump(insn, operand, machine.a)) >= 0;
        break;
      case BPF_RET:
        return BPF_RVAL(insn.code) == BPF_A ? machine.a : insn.k;
      case BPF_MISC:
        (BPF_MISCOP(insn.code) == BPF_TAX ? machine.x : machine.a) =
            BPF_MISCOP(insn.code) == BPF_TAX ? machine.a : machine.x;
        break;
    }
    if (!is_right) break;
    at += size_t(over);
  }
  return SECCOMP_RET_KILL_PROCESS;
}

uint32_t run_filters(std::span<const SeccompFilter> filters, const seccomp_data& call) {
  uint32_t answer = SECCOMP_RET_ALLOW;
  for (const SeccompFilter& filter : filters) {
    const uint32_t one = run_filter(filter, call);
    if (strictness(one) < strictness(answer)) answer = one;
  }
  return answer;
}

std::span<const AgentCall> agent_calls() { return kCalls; }

namespace {

Error ends_it(pid_t pid, const AgentCall& call) {
  return user_error(EPERM, "process " + std::to_string(pid) +
                               "'s filter of system calls (seccomp) ends it at " + call.name +
                               ", which the agent makes: allow it there");
}
Error denies(pid_t pid, const AgentCall& call) {
  return user_error(EPERM, "process " + std::to_string(pid) +
                               "'s filter of system calls (seccomp) does not allow " + call.name +
                               ", which the agent needs: allow it there");
}

}  // namespace

Status judge_filters(pid_t pid, std::span<const SeccompFilter> filters) {
  for (const AgentCall& one : kCalls) {
    seccomp_data call = {};
    call.nr = one.number;
    call.arch = AUDIT_ARCH_X86_64;
    call.instruction_pointer = kSomeCode;
    for (int i = 0; i < 3; i++) call.args[i] = one.arguments[i];
    const uint32_t action = run_filters(filters, call) & SECCOMP_RET_ACTION_FULL;
    if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG) continue;
    const bool ends = action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
                      action == SECCOMP_RET_TRAP;
    if (ends) return ends_it(pid, one);
    if (one.is_needed) return denies(pid, one);
  }
  return {};
}

namespace {

// Of a stopped thread, by the one that has stopped it; newest first.
Result<std::vector<SeccompFilter>> read_filters(pid_t tid) {
  std::vector<SeccompFilter> filters;
  for (uintptr_t i = 0; i < kMostFilters; i++) {
    auto* const which = reinterpret_cast<void*>(i);
    const long size = ::ptrace(PTRACE_SECCOMP_GET_FILTER, tid, which, nullptr);
    if (size < 0 && errno == ENOENT) return filters;
    if (size < 0) return sys_error("read the filters of system calls", errno);
    SeccompFilter filter{size_t(size)};
    if (::ptrace(PTRACE_SECCOMP_GET_FILTER, tid, which, filter.data()) != size)
      return sys_error("read a filter of system calls", errno);
    filters.push_back(std::move(filter));
  }
  return user_error(E2BIG, "there are more filters of system calls than can be looked at");
}

// Each thread has filters of its own, and hits run in all of them.
std::vector<pid_t> filtered_threads(pid_t pid) {
  std::vector<pid_t> found;
  const std::string directory = "/proc/" + std::to_string(pid) + "/task";
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const Result<std::string> status = read_file(entry.path().string() + "/status");
    if (status.ok() && status.value().find("\nSeccomp:\t2\n") != std::string::npos)
      found.push_back(pid_t(std::atoi(entry.path().filename().c_str())));
  }
  return found;
}

// How many filters a thread has, by its /proc/…/status; -1: it does not say (before Linux 5.9).
int filters_of(const std::string& status) {
  constexpr std::string_view kField = "\nSeccomp_filters:\t";
  Result<std::string> text = read_file(status);
  const size_t at = text.ok() ? text->find(kField) : std::string::npos;
  return at == std::string::npos ? -1 : std::atoi(text->c_str() + at + kField.size());
}

// Whether a process or thread is in the container of this command: it has the same mounts and the
// same place among the control groups. What cannot be read is not the same. Other containers may
// share the numbers of processes and have stricter filters.
bool is_in_this_container(const std::string& process) {
  struct stat own = {}, its = {};
  const std::string mounts = "/proc/" + process + "/ns/mnt";
  errno = 0;
  const bool has_mounts = ::stat("/proc/self/ns/mnt", &own) == 0 &&
                          ::stat(mounts.c_str(), &its) == 0 && own.st_ino == its.st_ino &&
                          own.st_dev == its.st_dev;
  // Of another user's first process only the groups can be read.
  if (!has_mounts && (process != "1" || errno != EACCES)) return false;
  const Result<std::string> here = read_file("/proc/self/cgroup");
  const Result<std::string> there = read_file("/proc/" + process + "/cgroup");
  return here.ok() && there.ok() && here.value() == there.value();
}

// In a container each process has the filters of the container, and may have added its own. Where
// this command, the thread and the container's first process have equally many, nobody has added
// one.
bool has_the_filters_of_this_command(pid_t tid) {
  const int count = filters_of("/proc/self/status");
  const std::string thread = std::to_string(tid);
  return count > 0 && filters_of("/proc/" + thread + "/status") == count &&
         filters_of("/proc/1/status") == count && is_in_this_container(thread) &&
         is_in_this_container("1");
}

// Makes the calls, in a child. None has an effect elsewhere, for no descriptor is open and no
// argument names memory. What makes threads (clone, exit) this command has used itself. `at` is in
// the end the index of the first call that is needed and denied, or the number of all.
[[noreturn]] void make_calls(volatile uint32_t* at) {
  constexpr unsigned kMostSeconds = 10;  // a filter may leave the answer to another process
  ::alarm(kMostSeconds);
  if (::syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
    for (int fd = 0; fd < 4096; fd++) ::close(fd);
  for (const AgentCall& one : kCalls) {
    const bool makes_threads = one.number == SYS_clone || one.number == SYS_exit;
    const auto& given = one.arguments;
    const long answer =
        makes_threads ? 0 : raw_syscall(one.number, long(given[0]), long(given[1]), long(given[2]));
    if ((answer == -EPERM || answer == -ENOSYS || answer == -EACCES) && one.is_needed) break;
    *at = *at + 1;
  }
  raw_syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

// This command has the same filter: what it says to the calls, a child finds out.
Status try_calls(pid_t pid) {
  void* const shared =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return sys_error("make memory for a child", errno);
  auto* const at = static_cast<volatile uint32_t*>(shared);
  const pid_t child = ::fork();
  if (child == 0) make_calls(at);
  int status = 0;
  pid_t ended = child;
  if (child > 0) do {
      ended = ::waitpid(child, &status, __WALL);
    } while (ended < 0 && errno == EINTR);
  const size_t reached = *at;
  ::munmap(shared, 4096);
  if (child < 0 || ended != child) return sys_error("try the calls of the agent in a child", errno);
  if (WIFSIGNALED(status) && reached < std::size(kCalls)) return ends_it(pid, kCalls[reached]);
  if (reached < std::size(kCalls)) return denies(pid, kCalls[reached]);
  return {};
}

Status check_thread(const Target& target, pid_t tid) {
  const pid_t pid = target.pid();
  PB_ASSIGN(const std::unique_ptr<StoppedThread> thread, StoppedThread::stop(target, tid, kStopMs));
  const auto filters = read_filters(tid);
  PB_TRY(thread->release());
  if (filters.ok()) return judge_filters(pid, filters.value());
  if (filters_of("/proc/self/status") == 0)
    return user_error(
        EPERM, "process " + std::to_string(pid) +
                   " runs under a filter of system calls (seccomp) that only root can read: attach "
                   "as root, or with --force, where it may end the program");
  if (has_the_filters_of_this_command(tid)) {
    static bool g_is_tried = false;  // one answer for all threads
    if (!g_is_tried) PB_TRY(try_calls(pid));
    g_is_tried = true;
    return {};
  }
  return user_error(
      EPERM, "process " + std::to_string(pid) +
                 " runs under a filter of system calls (seccomp) that differs from the one of this "
                 "command, and the kernel shows no filter to a command that has one: attach from "
                 "outside of the container, or with --force, where it may end the program");
}

}  // namespace

Status check_seccomp(pid_t pid, bool force) {
  if (force) return {};
  const std::vector<pid_t> threads = filtered_threads(pid);
  if (threads.empty()) return {};
  PB_TRY(may_attach(pid));  // one that cannot be attached to is not stopped for this
  PB_ASSIGN(const Target target, Target::open(pid));
  return on_own_thread<std::monostate>(pid, [&]() -> Status {
    for (const pid_t tid : threads) {
      const Status checked = check_thread(target, tid);
      if (!checked.ok() && checked.error().errno_value != ESRCH) return checked;  // or it has ended
    }
    return {};
  });
}

}  // namespace patchbay::attach
