// SPDX-License-Identifier: MIT
//
// The interposers are part of the agent, not of the library that tests link, so the unit is
// compiled into this test: here they replace libc's functions as they do in a traced program.
#include "agent/signal_hooks.cc"

#include "agent/next_function.cc"
#include "agent/signal_doors.cc"
#include "agent/signal_waits.cc"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <thread>

namespace patchbay {

bool clock_fault_fixup(const siginfo_t&, ucontext_t*) { return false; }  // the agent's own
bool alignment_fault_fixup(const siginfo_t&, ucontext_t*) { return false; }
bool program_has_other_threads() { return false; }
void* newest_version(void* function, const char*) { return function; }
bool libc_is_complete() { return true; }
void* function_of_libc(const char*) { return nullptr; }

namespace {

class SignalHooks : public ::testing::Test {
 protected:
  void SetUp() override { install_signal_hooks(); }
  void TearDown() override {
    for (int sig : kOurSignals) ::signal(sig, SIG_DFL);
  }
};

KernelAction kernel_view(int sig) {
  KernelAction action = {};
  kernel_sigaction(sig, nullptr, &action);
  return action;
}

// How a forked child dies that runs `body`: the signal, or -1.
int death_signal(void (*body)()) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

int g_seen_signal;
uint64_t g_seen_ip;
void remember(int sig, siginfo_t*, void* context) {
  g_seen_signal = sig;
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  g_seen_ip = static_cast<uint64_t>(rip);
}
sigjmp_buf g_back;
void jump_out(int) { siglongjmp(g_back, 1); }

volatile uintptr_t g_bad_address = 8;  // volatile: the compiler must not see what it is
void fault() { *reinterpret_cast<volatile int*>(g_bad_address) = 1; }
void trap() { __asm__ volatile("int3"); }

TEST_F(SignalHooks, TheProgramSeesWhatItSetAndTheKernelKeepsOurs) {
  struct sigaction action = {}, old = {};
  action.sa_sigaction = remember;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaddset(&action.sa_mask, SIGUSR1);
  ASSERT_EQ(::sigaction(SIGSEGV, &action, &old), 0);
  EXPECT_EQ(old.sa_handler, SIG_DFL);
  ASSERT_EQ(::sigaction(SIGSEGV, nullptr, &old), 0);
  EXPECT_EQ(old.sa_sigaction, remember);
  EXPECT_EQ(old.sa_flags, SA_SIGINFO | SA_ONSTACK);
  EXPECT_EQ(sigismember(&old.sa_mask, SIGUSR1), 1);
  EXPECT_EQ(kernel_view(SIGSEGV).handler, on_signal);
  EXPECT_TRUE(kernel_view(SIGSEGV).flags & SA_ONSTACK);
}

TEST_F(SignalHooks, MasksOfOtherHandlersNeverBlockOurs) {
  struct sigaction action = {}, old = {};
  action.sa_handler = SIG_IGN;
  action.sa_sigaction = remember;
  sigfillset(&action.sa_mask);
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  EXPECT_EQ(kernel_view(SIGUSR1).mask & kOurs, 0u);
  ::sigaction(SIGUSR1, nullptr, &old);
  EXPECT_EQ(sigismember(&old.sa_mask, SIGTRAP), 1);
  EXPECT_EQ(sigismember(&old.sa_mask, SIGUSR2), 1);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST_F(SignalHooks, BlockedSignalsAreShownAndHeldButNotBlocked) {
  sigset_t all, old;
  sigfillset(&all);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &all, &old), 0);
  uint64_t kernel_mask = 0;
  kernel_sigmask(SIG_BLOCK, nullptr, &kernel_mask);
  EXPECT_EQ(kernel_mask & kOurs, 0u);
  EXPECT_NE(kernel_mask & bit(SIGUSR1), 0u);
  sigset_t shown;
  ::sigprocmask(SIG_BLOCK, nullptr, &shown);
  EXPECT_EQ(sigismember(&shown, SIGTRAP), 1);
  struct sigaction action = {};
  action.sa_sigaction = remember;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGTRAP, &action, nullptr);
  g_seen_signal = 0;
  ::raise(SIGTRAP);
  EXPECT_EQ(g_seen_signal, 0);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  EXPECT_EQ(g_seen_signal, SIGTRAP);
}

TEST_F(SignalHooks, TheProgramsOwnTrapReachesItsHandler) {
  struct sigaction action = {};
  action.sa_sigaction = remember;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGTRAP, &action, nullptr);
  g_seen_signal = 0;
  trap();
  EXPECT_EQ(g_seen_signal, SIGTRAP);
  struct sigaction old = {};
  ::sigaction(SIGTRAP, nullptr, &old);
  EXPECT_EQ(old.sa_handler, SIG_DFL);
}

TEST_F(SignalHooks, AHandlerMayLeaveByLongjmpAgainAndAgain) {
  ::signal(SIGSEGV, jump_out);
  volatile int times = 0;
  for (int i = 0; i < 5; i++) {
    [&times] {
      if (sigsetjmp(g_back, 1))
        times = times + 1;
      else
        fault();
    }();
  }
  EXPECT_EQ(times, 5);
}

TEST_F(SignalHooks, WithoutAHandlerTheProgramDiesOfTheSameSignal) {
  EXPECT_EQ(death_signal(fault), SIGSEGV);
  EXPECT_EQ(death_signal(trap), SIGTRAP);
  EXPECT_EQ(death_signal([] { ::raise(SIGBUS); }), SIGBUS);
  EXPECT_EQ(death_signal([] {
              ::signal(SIGSEGV, SIG_IGN);
              ::raise(SIGSEGV);
            }),
            -1);
  EXPECT_EQ(death_signal([] {
              ::signal(SIGSEGV, SIG_IGN);
              fault();
            }),
            SIGSEGV);
}

// As libc does it, where it makes and ends threads.
struct RawlyBlocked {
  RawlyBlocked() {
    const uint64_t all = ~uint64_t{0};
    kernel_sigmask(SIG_SETMASK, &all, &before);
  }
  ~RawlyBlocked() { kernel_sigmask(SIG_SETMASK, &before, nullptr); }
  uint64_t before = 0;
};
// A load that may fault, as the probe path makes it.
bool loads_nothing() {
  uint64_t value = 1;
  fetch_words(reinterpret_cast<uint8_t*>(&value), g_bad_address, 1);
  return value == 0;
}

TEST_F(SignalHooks, AFaultOfTheProbePathIsCaughtWhereAllSignalsAreBlocked) {
  ClosedSignals closed;
  RawlyBlocked blocked;
  {
    OpenSignals open;
    EXPECT_TRUE(loads_nothing());
  }
  uint64_t mask = 0;
  kernel_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(mask & kOurs, kOurs);
  EXPECT_EQ(death_signal([] { loads_nothing(); }), SIGSEGV);  // what it is for
}

TEST_F(SignalHooks, ASignalThatIsSentWhileWeHaveOpenedTheMaskWaitsUntilItIsOpen) {
  struct sigaction action = {};
  action.sa_sigaction = remember;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
  g_seen_signal = 0;
  {
    ClosedSignals closed;
    RawlyBlocked blocked;
    {
      OpenSignals open;
      raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), SIGSEGV);
      EXPECT_EQ(g_seen_signal, 0);
      EXPECT_TRUE(loads_nothing());
    }
    EXPECT_EQ(g_seen_signal, 0);
  }
  EXPECT_EQ(g_seen_signal, SIGSEGV);
}

// The child of posix_spawn sets every handler to SIG_DFL before it executes.
TEST_F(SignalHooks, AFaultOfTheProbePathIsCaughtWhereTheHandlerIsGone) {
  EXPECT_EQ(death_signal([] {
              KernelAction standard = {};
              kernel_sigaction(SIGSEGV, &standard, nullptr);
              ClosedSignals closed;
              pb_thread.no_rseq++;
              {
                OpenSignals open;
                if (!loads_nothing()) ::abort();
              }
              pb_thread.no_rseq--;
              if (kernel_view(SIGSEGV).handler) ::abort();
            }),
            -1);
}

TEST_F(SignalHooks, AMaskThatWasOpenedWithoutUsIsBelieved) {
  sigset_t all, old, shown;
  sigfillset(&all);
  struct sigaction action = {};
  action.sa_handler = jump_out;
  ::sigaction(SIGSEGV, &action, nullptr);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &all, &old), 0);
  const uint64_t none = 0;
  kernel_sigmask(SIG_SETMASK, &none, nullptr);
  volatile int times = 0;
  if (sigsetjmp(g_back, 1) == 0) {
    fault();
  } else {
    times = times + 1;
  }
  EXPECT_EQ(times, 1);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &shown);
  EXPECT_EQ(sigismember(&shown, SIGSEGV), 0);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

TEST_F(SignalHooks, AFaultKillsWhereTheProgramHasBlockedIt) {
  EXPECT_EQ(death_signal([] {
              ::signal(SIGSEGV, jump_out);
              sigset_t all;
              sigfillset(&all);
              ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
              if (sigsetjmp(g_back, 1) == 0) fault();
            }),
            SIGSEGV);
}

// A stub whose relocated code faults: the handler sees the original address, and may leave it.
__asm__(R"(
.text
.p2align 4
.globl hooks_faults_first
.type hooks_faults_first, @function
hooks_faults_first:
  mov (%rdi), %rax
  add $1, %rax
  ret
.size hooks_faults_first, . - hooks_faults_first
)");
extern "C" uint64_t hooks_faults_first(uint64_t* address);

alignas(4096) uint8_t g_page[4096];
void make_readable(int, siginfo_t*, void* context) {
  g_seen_ip = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  ::mprotect(g_page, sizeof(g_page), PROT_READ | PROT_WRITE);
}

TEST_F(SignalHooks, AFaultInAStubIsShownAtItsOriginalPlace) {
  auto symbols = make_self_symbol_table();
  symbols->refresh();
  auto patcher = make_patcher();
  auto found = symbols->resolve("hooks_faults_first");
  ASSERT_TRUE(found.ok());
  SiteChange change{patcher->plan(*(*found)[0].module, (*found)[0].symbol),
                    [](uint8_t* out, size_t, uint64_t) -> size_t {
                      out[0] = 0x90;
                      return 1;
                    }};
  ASSERT_EQ(change.plan.kind, SiteKind::kJump) << change.plan.reason;
  ASSERT_EQ(patcher->apply({&change, 1}, false)->applied, 1u);
  struct sigaction action = {};
  action.sa_sigaction = make_readable;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::mprotect(g_page, sizeof(g_page), PROT_NONE);
  EXPECT_EQ(hooks_faults_first(reinterpret_cast<uint64_t*>(g_page)), 1u);
  EXPECT_EQ(g_seen_ip, reinterpret_cast<uint64_t>(&hooks_faults_first));
  change.prologue = {};
  EXPECT_TRUE(patcher->apply({&change, 1}, false).ok());
}

// The same for instructions that cannot be executed: the handler goes on behind them, which is
// among the displaced bytes as well, or behind them.
__asm__(R"(
.text
.p2align 4
.globl hooks_divides
.type hooks_divides, @function
hooks_divides:
  xor %edx, %edx
  div %esi
  mov %edi, %eax
  ret
.size hooks_divides, . - hooks_divides
.p2align 4
.globl hooks_stops
.type hooks_stops, @function
hooks_stops:
  lea 1(%rdi), %eax
  ud2
  ret
.size hooks_stops, . - hooks_stops
)");
extern "C" uint32_t hooks_divides(uint32_t a, uint32_t b);
extern "C" uint32_t hooks_stops(uint32_t a);

void skip_two_bytes(int sig, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  g_seen_signal = sig;
  g_seen_ip = static_cast<uint64_t>(rip);
  rip += 2;
}

class MovedFault : public SignalHooks {
 protected:
  void SetUp() override {
    SignalHooks::SetUp();
    struct sigaction action = {};
    action.sa_sigaction = skip_two_bytes;
    action.sa_flags = SA_SIGINFO;
    for (int sig : {SIGFPE, SIGILL}) ::sigaction(sig, &action, nullptr);
    symbols_->refresh();
    g_seen_signal = 0;
  }
  SiteChange patched(const char* name) {
    auto found = symbols_->resolve(name);
    return {patcher_->plan(*(*found)[0].module, (*found)[0].symbol),
            [](uint8_t* out, size_t, uint64_t) -> size_t {
              out[0] = 0x90;
              return 1;
            }};
  }
  std::unique_ptr<SymbolTable> symbols_ = make_self_symbol_table();
  std::unique_ptr<Patcher> patcher_ = make_patcher();
};

TEST_F(MovedFault, AHandlerOfDivisionsSkipsOne) {
  SiteChange change = patched("hooks_divides");
  ASSERT_EQ(change.plan.kind, SiteKind::kJump) << change.plan.reason;
  ASSERT_EQ(patcher_->apply({&change, 1}, false)->applied, 1u);
  EXPECT_EQ(hooks_divides(7, 0), 7u);
  EXPECT_EQ(g_seen_signal, SIGFPE);
  EXPECT_EQ(g_seen_ip, reinterpret_cast<uint64_t>(&hooks_divides) + 2);
  g_seen_signal = 0;
  EXPECT_EQ(hooks_divides(7, 1), 7u);
  EXPECT_EQ(g_seen_signal, 0);
  change.prologue = {};
  EXPECT_TRUE(patcher_->apply({&change, 1}, false).ok());
}

TEST_F(MovedFault, AHandlerOfIllegalInstructionsSkipsOne) {
  SiteChange change = patched("hooks_stops");
  ASSERT_NE(change.plan.kind, SiteKind::kRefused) << change.plan.reason;
  ASSERT_EQ(patcher_->apply({&change, 1}, false)->applied, 1u);
  EXPECT_EQ(hooks_stops(41), 42u);
  EXPECT_EQ(g_seen_signal, SIGILL);
  EXPECT_EQ(g_seen_ip, reinterpret_cast<uint64_t>(&hooks_stops) + 3);
  change.prologue = {};
  EXPECT_TRUE(patcher_->apply({&change, 1}, false).ok());
}

TEST_F(SignalHooks, DivisionsAndIllegalInstructionsKillAsTheyDid) {
  EXPECT_EQ(death_signal([] { hooks_divides(1, 0); }), SIGFPE);
  EXPECT_EQ(death_signal([] { hooks_stops(1); }), SIGILL);
  EXPECT_EQ(death_signal([] {
              ::signal(SIGFPE, SIG_IGN);
              ::raise(SIGFPE);
            }),
            -1);
}

TEST_F(SignalHooks, SpawningAndVforkWorkAndRestoreTheThread) {
  pb_thread.fast_tid = 4711;
  EXPECT_EQ(::system("exit 3"), 3 << 8);
  EXPECT_EQ(pb_thread.fast_tid, 0u);  // the next hit finds out anew
  EXPECT_EQ(pb_thread.open, 1u);
  FILE* pipe = ::popen("echo hello", "r");
  ASSERT_NE(pipe, nullptr);
  char line[16] = {};
  EXPECT_NE(fgets(line, sizeof(line), pipe), nullptr);
  EXPECT_STREQ(line, "hello\n");
  pclose(pipe);
  pb_thread.fast_tid = 4711;
  volatile uint32_t in_child_no_rseq = 0, in_child_tid = 1;
  const pid_t pid = ::vfork();
  if (pid == 0) {
    in_child_no_rseq = pb_thread.no_rseq & ~kRseqUnsettled;
    in_child_tid = pb_thread.fast_tid;
    ::_exit(5);
  }
  ASSERT_GT(pid, 0);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(in_child_no_rseq, 1u);
  EXPECT_EQ(in_child_tid, 0u);
  EXPECT_FALSE(pb_thread.is_lent());
  EXPECT_EQ(pb_thread.fast_tid, 4711u);
  pb_thread.fast_tid = 0;
}

}  // namespace
}  // namespace patchbay
