// SPDX-License-Identifier: MIT
#include "attach/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "base/unique_fd.h"

namespace patchbay::attach {
namespace {

constexpr sock_filter kLoadNumber = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
constexpr sock_filter kAllow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

sock_filter answer(uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
// One system call gets an answer, all others are allowed.
SeccompFilter only(int number, uint32_t value) {
  return {kLoadNumber, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(number), 0, 1), answer(value),
          kAllow};
}

seccomp_data call_of(int number, uint64_t first = 0) {
  seccomp_data call = {};
  call.nr = number;
  call.arch = AUDIT_ARCH_X86_64;
  call.args[0] = first;
  return call;
}

std::string verdict(std::initializer_list<SeccompFilter> filters) {
  const std::vector<SeccompFilter> all(filters);
  const Status status = judge_filters(7, all);
  return status.ok() ? "" : status.error().message();
}

TEST(RunFilter, NumbersArchitecturesAndArguments) {
  const SeccompFilter filter = only(SYS_read, SECCOMP_RET_ERRNO | 5);
  EXPECT_EQ(run_filter(filter, call_of(SYS_read)), SECCOMP_RET_ERRNO | 5u);
  EXPECT_EQ(run_filter(filter, call_of(SYS_write)), uint32_t{SECCOMP_RET_ALLOW});
  const SeccompFilter high = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 4),
                              kAllow};
  EXPECT_EQ(run_filter(high, call_of(1)), uint32_t{SECCOMP_RET_ALLOW});
  const SeccompFilter argument = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 4),
      BPF_STMT(BPF_RET | BPF_A, 0)};
  EXPECT_EQ(run_filter(argument, call_of(1, 0x1234500000000)), 0x12345u);
}

TEST(RunFilter, Arithmetic) {
  const auto result = [](uint16_t operation, uint32_t a, uint32_t operand) {
    return run_filter(
        {BPF_STMT(BPF_LD | BPF_IMM, a), BPF_STMT(uint16_t(BPF_ALU | operation), operand),
         BPF_STMT(BPF_RET | BPF_A, 0)},
        call_of(0));
  };
  EXPECT_EQ(result(BPF_ADD, 7, 3), 10u);
  EXPECT_EQ(result(BPF_SUB, 7, 8), ~0u);
  EXPECT_EQ(result(BPF_MUL, 7, 3), 21u);
  EXPECT_EQ(result(BPF_DIV, 7, 3), 2u);
  EXPECT_EQ(result(BPF_AND, 6, 3), 2u);
  EXPECT_EQ(result(BPF_OR, 6, 3), 7u);
  EXPECT_EQ(result(BPF_XOR, 6, 3), 5u);
  EXPECT_EQ(result(BPF_LSH, 1, 4), 16u);
  EXPECT_EQ(result(BPF_RSH, 16, 4), 1u);
  EXPECT_EQ(result(BPF_NEG, 1, 0), ~0u);
  EXPECT_EQ(result(BPF_DIV, 7, 0), uint32_t{SECCOMP_RET_KILL_PROCESS});
}

TEST(RunFilter, JumpsMemoryAndTheOtherRegister) {
  const auto jumps = [](uint16_t operation, uint32_t a, uint32_t k) {
    return run_filter(
        {BPF_STMT(BPF_LD | BPF_IMM, a), BPF_JUMP(uint16_t(BPF_JMP | operation | BPF_K), k, 0, 1),
         answer(1), answer(2)},
        call_of(0));
  };
  EXPECT_EQ(jumps(BPF_JEQ, 5, 5), 1u);
  EXPECT_EQ(jumps(BPF_JEQ, 5, 6), 2u);
  EXPECT_EQ(jumps(BPF_JGT, 6, 5), 1u);
  EXPECT_EQ(jumps(BPF_JGT, 5, 5), 2u);
  EXPECT_EQ(jumps(BPF_JGE, 5, 5), 1u);
  EXPECT_EQ(jumps(BPF_JSET, 6, 4), 1u);
  EXPECT_EQ(jumps(BPF_JSET, 6, 1), 2u);
  const SeccompFilter filter = {BPF_STMT(BPF_LD | BPF_IMM, 9),
                                BPF_STMT(BPF_ST, 3),
                                BPF_STMT(BPF_LDX | BPF_MEM, 3),
                                BPF_STMT(BPF_LD | BPF_IMM, 1),
                                BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
                                BPF_STMT(BPF_MISC | BPF_TAX, 0),
                                BPF_STMT(BPF_LD | BPF_IMM, 0),
                                BPF_STMT(BPF_JMP | BPF_JA, 1),
                                answer(0),
                                BPF_STMT(BPF_MISC | BPF_TXA, 0),
                                BPF_STMT(BPF_RET | BPF_A, 0)};
  EXPECT_EQ(run_filter(filter, call_of(0)), 10u);
}

TEST(RunFilter, WhatTheKernelWouldNotTakeKills) {
  const uint32_t kills = SECCOMP_RET_KILL_PROCESS;
  EXPECT_EQ(run_filter({}, call_of(0)), kills);
  EXPECT_EQ(run_filter({kLoadNumber}, call_of(0)), kills);
  EXPECT_EQ(
      run_filter({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(seccomp_data)), kAllow}, call_of(0)),
      kills);
  EXPECT_EQ(run_filter({BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), kAllow}, call_of(0)), kills);
  EXPECT_EQ(run_filter({BPF_STMT(BPF_ST, BPF_MEMWORDS), kAllow}, call_of(0)), kills);
  EXPECT_EQ(run_filter({BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), kAllow}, call_of(0)), kills);
}

TEST(RunFilters, TheStrictestCounts) {
  const seccomp_data call = call_of(SYS_read);
  const SeccompFilter denies = only(SYS_read, SECCOMP_RET_ERRNO | 1);
  const SeccompFilter kills = only(SYS_read, SECCOMP_RET_KILL_PROCESS);
  const SeccompFilter logs = only(SYS_read, SECCOMP_RET_LOG);
  EXPECT_EQ(run_filters({}, call), uint32_t{SECCOMP_RET_ALLOW});
  EXPECT_EQ(run_filters(std::vector{denies, logs}, call), SECCOMP_RET_ERRNO | 1u);
  EXPECT_EQ(run_filters(std::vector{logs, denies}, call), SECCOMP_RET_ERRNO | 1u);
  EXPECT_EQ(run_filters(std::vector{denies, kills, logs}, call),
            uint32_t{SECCOMP_RET_KILL_PROCESS});
}

TEST(JudgeFilters, Sentences) {
  EXPECT_EQ(verdict({}), "");
  EXPECT_EQ(verdict({only(SYS_execve, SECCOMP_RET_KILL_PROCESS)}), "");
  EXPECT_EQ(verdict({only(SYS_mmap, SECCOMP_RET_LOG)}), "");
  EXPECT_EQ(verdict({only(SYS_unshare, SECCOMP_RET_ERRNO | 1)}), "");
  EXPECT_EQ(verdict({only(SYS_clone3, SECCOMP_RET_ERRNO | 38)}), "");
  EXPECT_EQ(verdict({only(SYS_membarrier, SECCOMP_RET_ERRNO | 1)}),
            "process 7's filter of system calls (seccomp) does not allow membarrier, which the "
            "agent needs: allow it there");
  EXPECT_EQ(verdict({only(SYS_unshare, SECCOMP_RET_TRAP)}),
            "process 7's filter of system calls (seccomp) ends it at unshare, which the agent "
            "makes: allow it there");
}

// A process that has such a filter and waits.
class Filtered {
 public:
  explicit Filtered(SeccompFilter filter) : pid_(::fork()) {
    if (pid_ != 0) return;
    const sock_fprog program = {uint16_t(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      ::_exit(1);
    for (;;) ::pause();
  }
  ~Filtered() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool is_ready() const {
    for (int i = 0; i < 1000; i++) {
      Result<std::string> status = read_file("/proc/" + std::to_string(pid_) + "/status");
      if (status.ok() && status->find("Seccomp:\t2") != status->npos) return true;
      ::usleep(10000);
    }
    return false;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

std::string said(pid_t pid, bool force) {
  const Status status = check_seccomp(pid, force);
  return status.ok() ? "" : status.error().message();
}

TEST(CheckSeccomp, TheFiltersOfAProcess) {
  EXPECT_EQ(said(::getppid(), true), "");
  const Filtered bad(only(SYS_socket, SECCOMP_RET_KILL_PROCESS));
  const Filtered good(only(SYS_reboot, SECCOMP_RET_ERRNO | 1));
  ASSERT_TRUE(bad.is_ready() && good.is_ready());
  EXPECT_EQ(said(bad.pid(), true), "");
  const std::string about_bad = said(bad.pid(), false), about_good = said(good.pid(), false);
  if (about_good.find("only root can read") != std::string::npos)
    GTEST_SKIP() << "filters cannot be read here: " << about_good;
  EXPECT_NE(about_bad.find("ends it at socket"), std::string::npos) << about_bad;
  EXPECT_EQ(about_good, "");
}

TEST(CheckSeccomp, AUserWhoMayNotReadThemIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0 ||
        ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
      ::_exit(2);
    int result = 3;
    {
      const Filtered good(only(SYS_reboot, SECCOMP_RET_ERRNO | 1));
      const std::string text = good.is_ready() ? said(good.pid(), false) : "";
      if (text.find("--force") != text.npos) result = said(good.pid(), true).empty() ? 0 : 4;
    }
    ::_exit(result);
  }
  int ended = -1;
  ::waitpid(child, &ended, 0);
  EXPECT_EQ(ended, 0);
}

bool put_filter(const SeccompFilter& filter) {
  const sock_fprog program = {uint16_t(filter.size()), const_cast<sock_filter*>(filter.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// What a command in a container says about a process there. All have the filter of the container;
// `more`: the process has added one. Status 77: no container can be made here.
std::string said_in_container(const SeccompFilter& filter, bool more) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t maker = ::fork();
  if (maker == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(77);
    const pid_t init = ::fork();
    if (init != 0) {
      int status = 0;
      ::waitpid(init, &status, 0);
      ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", 0, nullptr) != 0 || !put_filter(filter))
      ::_exit(77);
    int ready[2];
    if (::pipe(ready) != 0) ::_exit(1);
    const pid_t target = ::fork();
    if (target == 0) {
      if (more) put_filter(only(SYS_reboot, SECCOMP_RET_ERRNO | 1));
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char byte;
    if (::read(ready[0], &byte, 1) != 1) ::_exit(1);
    const std::string text = said(target, false);
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == ssize_t(text.size()) ? 0 : 1);  // and the target with it
  }
  ::close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t got; (got = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, size_t(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(maker, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? "no container" : text;
}

// The kernel shows no filter to a command that has one itself. One that has the same tries it.
TEST(CheckSeccomp, ACommandUnderTheSameFilterTriesTheCalls) {
  const SeccompFilter good = only(SYS_reboot, SECCOMP_RET_ERRNO | 1);
  const std::string about_good = said_in_container(good, false);
  if (about_good == "no container") GTEST_SKIP() << "no namespaces can be made here";
  EXPECT_EQ(about_good, "");
  const std::string denied = said_in_container(only(SYS_listen, SECCOMP_RET_ERRNO | 1), false);
  EXPECT_NE(denied.find("does not allow listen"), denied.npos) << denied;
  const std::string unneeded = said_in_container(only(SYS_clone3, SECCOMP_RET_ERRNO | 38), false);
  EXPECT_EQ(unneeded, "");
  const std::string ended =
      said_in_container(only(SYS_fallocate, SECCOMP_RET_KILL_PROCESS), false);
  EXPECT_NE(ended.find("ends it at fallocate"), ended.npos) << ended;
  const std::string differs = said_in_container(good, true);
  EXPECT_NE(differs.find("differs from the one of this command"), differs.npos) << differs;
  EXPECT_NE(differs.find("--force"), differs.npos) << differs;
}

}  // namespace
}  // namespace patchbay::attach
