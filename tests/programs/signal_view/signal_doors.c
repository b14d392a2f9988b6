// SPDX-License-Identifier: MIT
// Sets and asks handlers and masks by each function of libc that does, in a process each; under
// each the program is hit at an int3 and with a bad pointer, sees what it has set, and handles its
// own fault. With an argument it first waits for a line.
// build: cc -O2 signal_doors.c -ldl
// events: tiny(int n)
// events: deref(x64 v[0])
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
typedef void handler_fn(int);
handler_fn *bsd_signal(int, handler_fn*), *sysv_signal(int, handler_fn*);
handler_fn *ssignal(int, handler_fn*), *__sysv_signal(int, handler_fn*);
int __sigpause(int sig_or_mask, int is_sig);

int tiny(int n);
__asm__(
    ".text\n.p2align 4\n.globl tiny\n.type tiny, @function\n xor %eax, %eax\n ret\n"
    "tiny:\n lea 3(%rdi), %eax\n ret\n.size tiny, . - tiny\n xor %eax, %eax\n ret\n");
__attribute__((noinline)) long deref(long* p) {
  __asm__ volatile("" : "+r"(p)::"memory");
  return (long)p;
}
static int hits(void) {
  return deref((long*)0x10) == 0x10 && deref((long*)0x7000000000000000) && tiny(4) == 7;
}

static sigjmp_buf out;
static volatile int came;
static void leave(int sig) { siglongjmp(out, sig); }
static void note(int sig) { came += sig, came += hits() ? 0 : 1000; }
static int own_fault(void) {
  const int sig = sigsetjmp(out, 1);
  if (sig) return sig == SIGSEGV;
  *(volatile int*)8 = 1;
  return 0;
}
static handler_fn* view(int sig) {
  struct sigaction now;
  return sigaction(sig, 0, &now) ? (handler_fn*)-2 : now.sa_handler;
}
static int blocked(int sig) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, 0, &now);
  return sigismember(&now, sig);
}
static int waits(int sig) {
  sigset_t now;
  sigpending(&now);
  return sigismember(&now, sig);
}
static sigset_t set_of(int a, int b) {
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, a), sigaddset(&set, b);
  return set;
}
static void change(int how, int sig) {
  const sigset_t set = set_of(sig, sig);
  sigprocmask(how, &set, 0);
}

// Each answers 0, or the number of what is wrong.
static int with_handler(void) {
  return view(SIGSEGV) != leave ? 1 : !hits() ? 2 : !own_fault() ? 3 : !hits() ? 4 : 0;
}
static int by_signal(void) { return signal(SIGSEGV, leave), with_handler(); }
static int by_bsd_signal(void) { return bsd_signal(SIGSEGV, leave), with_handler(); }
static int by_sysv_signal(void) { return sysv_signal(SIGSEGV, leave), with_handler(); }
static int by_sysv_signal_2(void) { return __sysv_signal(SIGSEGV, leave), with_handler(); }
static int by_ssignal(void) { return ssignal(SIGSEGV, leave), with_handler(); }
static int by_sigset(void) { return sigset(SIGSEGV, leave), with_handler(); }
static int by_sigset_hold(void) {
  sigset(SIGTRAP, SIG_HOLD), sigset(SIGSEGV, SIG_HOLD);
  if (!hits()) return 10;
  if (!blocked(SIGTRAP) || !blocked(SIGSEGV)) return 11;
  if (sigset(SIGSEGV, leave) != SIG_HOLD || blocked(SIGSEGV)) return 12;
  return with_handler();
}
static int by_sighold(void) {
  sighold(SIGTRAP), sighold(SIGSEGV);
  if (!hits() || !blocked(SIGTRAP)) return 10;
  sigrelse(SIGTRAP), sigrelse(SIGSEGV);
  if (!hits() || blocked(SIGTRAP)) return 11;
  return signal(SIGSEGV, leave), with_handler();
}
static int by_sigignore(void) {
  sigignore(SIGTRAP), sigignore(SIGSEGV);
  if (view(SIGSEGV) != SIG_IGN || view(SIGTRAP) != SIG_IGN || !hits()) return 10;
  raise(SIGTRAP);
  return signal(SIGSEGV, leave), with_handler();
}
static int by_sigblock(void) {
  sigblock(sigmask(SIGTRAP) | sigmask(SIGSEGV));
  if (siggetmask() != (sigmask(SIGTRAP) | sigmask(SIGSEGV)) || !hits()) return 10;
  if (sigsetmask(0) != (sigmask(SIGTRAP) | sigmask(SIGSEGV)) || blocked(SIGTRAP)) return 11;
  return signal(SIGSEGV, leave), with_handler();
}
static int by_siginterrupt(void) {
  signal(SIGSEGV, leave), siginterrupt(SIGSEGV, 1), siginterrupt(SIGTRAP, 0);
  return with_handler();
}
static int by_address(void) {  // of libc itself, as RTLD_DEEPBIND gives it
  void* const libc = dlopen("libc.so.6", RTLD_NOW);
  int (*action)(int, const struct sigaction*, struct sigaction*) = dlsym(libc, "sigaction");
  int (*mask)(int, const sigset_t*, sigset_t*) = dlsym(libc, "sigprocmask");
  const struct sigaction wanted = {.sa_handler = leave};
  const sigset_t set = set_of(SIGTRAP, SIGBUS);
  if (action(SIGSEGV, &wanted, 0) || mask(SIG_BLOCK, &set, 0) || !blocked(SIGTRAP)) return 10;
  return with_handler();
}
static int by_longjmp(void) {  // takes the mask back
  static sigjmp_buf here;
  signal(SIGTRAP, note);
  if (!sigsetjmp(here, 1)) {
    change(SIG_BLOCK, SIGTRAP);
    raise(SIGTRAP);
    if (!hits() || came) return 10;
    siglongjmp(here, 1);
  }
  return came != SIGTRAP || blocked(SIGTRAP) || !hits() ? 11 : 0;
}

// Signals that wait.
static int held(int sig) { return signal(sig, note), change(SIG_BLOCK, sig), raise(sig), !came; }
static int by_sigpending(void) {
  if (!held(SIGTRAP) || !waits(SIGTRAP) || waits(SIGSEGV) || !hits()) return 10;
  change(SIG_UNBLOCK, SIGTRAP);
  return came != SIGTRAP || waits(SIGTRAP) ? 11 : 0;
}
static int by_sigsuspend(void) {
  sigset_t none;
  sigemptyset(&none);
  if (!held(SIGTRAP) || sigsuspend(&none) != -1 || came != SIGTRAP) return 10;
  return !blocked(SIGTRAP) || waits(SIGTRAP) || !hits() ? 11 : 0;
}
static int by_sigpause(void) {
  if (!held(SIGTRAP) || sigpause(SIGTRAP) != -1 || came != SIGTRAP) return 10;
  raise(SIGTRAP);
  if (__sigpause(0, 0) != -1 || came != 2 * SIGTRAP) return 11;
  return !blocked(SIGTRAP) || !hits() ? 12 : 0;
}
static int by_ppoll(void) {
  sigset_t none, full;
  const struct timespec second = {1, 0}, moment = {0, 1000};
  sigemptyset(&none), sigfillset(&full);
  if (!held(SIGSEGV) || ppoll(0, 0, &moment, &full) != 0 || came) return 10;
  if (ppoll(0, 0, &second, &none) != -1 || came != SIGSEGV) return 11;
  raise(SIGSEGV);
  if (pselect(0, 0, 0, 0, &second, &none) != -1 || came != 2 * SIGSEGV) return 12;
  raise(SIGSEGV);
  struct epoll_event event;
  if (epoll_pwait(epoll_create1(0), &event, 1, 1000, &none) != -1) return 13;
  return came != 3 * SIGSEGV || !blocked(SIGSEGV) || !hits() ? 14 : 0;
}
static int by_sigwait(void) {
  const sigset_t set = set_of(SIGTRAP, SIGSEGV);
  const struct timespec moment = {0, 1000};
  siginfo_t info;
  int sig = 0;
  if (!held(SIGTRAP) || sigwait(&set, &sig) || sig != SIGTRAP || waits(SIGTRAP)) return 10;
  raise(SIGTRAP);
  if (sigwaitinfo(&set, &info) != SIGTRAP || info.si_signo != SIGTRAP) return 11;
  raise(SIGTRAP);
  if (sigtimedwait(&set, &info, &moment) != SIGTRAP) return 12;
  if (sigtimedwait(&set, &info, &moment) != -1) return 13;
  return came || !blocked(SIGTRAP) || !hits() ? 14 : 0;
}

// Masks that a handler or a context brings.
static int edit_how;
static void edit(int sig, siginfo_t* info, void* raw) {
  ucontext_t* context = raw;
  (void)sig, (void)info;
  if (edit_how) sigaddset(&context->uc_sigmask, SIGTRAP);
  if (!edit_how) sigdelset(&context->uc_sigmask, SIGTRAP);
}
static int by_uc_sigmask(void) {
  const struct sigaction action = {.sa_sigaction = edit, .sa_flags = SA_SIGINFO};
  signal(SIGTRAP, note);
  for (int sig = SIGUSR1; sig != SIGBUS; sig = SIGBUS) {
    sigaction(sig, &action, 0), sigaction(SIGBUS, &action, 0);
    edit_how = 1, raise(sig);
    if (!hits() || !blocked(SIGTRAP) || blocked(SIGSEGV)) return 10;
    raise(SIGTRAP);
    if (came) return 11;
    edit_how = 0, raise(SIGBUS);
    if (came != SIGTRAP || blocked(SIGTRAP) || !hits()) return 12;
  }
  return 0;
}
static int by_setcontext(void) {
  static ucontext_t context;
  static volatile int times;
  times = 0;
  getcontext(&context);
  if (times++ == 0) {
    sigaddset(&context.uc_sigmask, SIGTRAP);
    setcontext(&context);
  }
  if (!hits() || !blocked(SIGTRAP) || times != 2) return 10;
  times = 0;
  getcontext(&context);
  if (times == 0 && !sigismember(&context.uc_sigmask, SIGTRAP)) return 12;
  if (times++ == 0) {
    sigemptyset(&context.uc_sigmask);
    setcontext(&context);
  }
  return !hits() || blocked(SIGTRAP) ? 11 : 0;
}
static ucontext_t of_main, of_fiber;
static int fiber_is_right;
static void fiber(void) {
  for (;;) {
    fiber_is_right += hits() && blocked(SIGTRAP);
    swapcontext(&of_fiber, &of_main);
  }
}
static int by_swapcontext(void) {
  static char stack[64 * 1024];
  getcontext(&of_fiber);
  of_fiber.uc_stack.ss_sp = stack, of_fiber.uc_stack.ss_size = sizeof stack;
  of_fiber.uc_link = &of_main;
  sigaddset(&of_fiber.uc_sigmask, SIGTRAP);
  makecontext(&of_fiber, fiber, 0);
  for (int i = 1; i < 3; i++)
    if (swapcontext(&of_main, &of_fiber) || fiber_is_right != i || blocked(SIGTRAP) || !hits())
      return 10;
  return 0;
}

static const struct {
  const char* name;
  int (*run)(void);
} ways[] = {
    {"signal", by_signal},
    {"bsd_signal", by_bsd_signal},
    {"sysv_signal", by_sysv_signal},
    {"__sysv_signal", by_sysv_signal_2},
    {"ssignal", by_ssignal},
    {"sigset", by_sigset},
    {"SIG_HOLD", by_sigset_hold},
    {"sighold", by_sighold},
    {"sigignore", by_sigignore},
    {"sigblock", by_sigblock},
    {"siginterrupt", by_siginterrupt},
    {"an address of libc", by_address},
    {"siglongjmp", by_longjmp},
    {"sigpending", by_sigpending},
    {"sigsuspend", by_sigsuspend},
    {"sigpause", by_sigpause},
    {"ppoll", by_ppoll},
    {"sigwait", by_sigwait},
    {"uc_sigmask", by_uc_sigmask},
    {"setcontext", by_setcontext},
    {"swapcontext", by_swapcontext},
};

int main(int argc, char** argv) {
  (void)argv;
  char line[16];
  if (argc > 1 && !fgets(line, sizeof line, stdin)) return 9;
  int bad = 0;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(ways[i].run());
    int status = 0;
    waitpid(child, &status, 0);
    if (status) bad++;
    if (!status)
      printf("%s: ok\n", ways[i].name);
    else if (WIFSIGNALED(status))
      printf("%s: KILLED by %d\n", ways[i].name, WTERMSIG(status));
    else
      printf("%s: wrong %d\n", ways[i].name, WEXITSTATUS(status));
  }
  return bad;
}
