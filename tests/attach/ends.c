// SPDX-License-Identifier: MIT
// What is older than the agent, and what outlives it: threads that end while libc is patched, and
// signals that come while they are blocked. attach_case.h says what these programs have in common.
#include "attach_case.h"

#include <dlfcn.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>

// --- old-threads: with each byte on stdin eight of the threads end, a few milliseconds apart
enum { kThreads = 480, kAtOnce = 8 };
static sem_t may_end;
static atomic_int ended;

static void* wait_to_end(void* unused) {
  (void)unused;
  while (sem_wait(&may_end) != 0) {
  }
  atomic_fetch_add(&ended, 1);
  return 0;
}
static void ends_old_threads(const char* unused) {
  (void)unused;
  static pthread_t threads[kThreads];
  pthread_attr_t small;
  char byte;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  sem_init(&may_end, 0, 0);
  for (int i = 0; i < kThreads; i++)
    if (pthread_create(&threads[i], &small, wait_to_end, 0) != 0) abort();
  ready();
  int released = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1 && byte == 'e' && released < kThreads) {
    for (int i = 0; i < kAtOnce; i++, released++) {
      sem_post(&may_end);
      usleep(2000);
    }
    if (write(STDERR_FILENO, "round\n", 6) != 6) abort();
  }
  for (; released < kThreads; released++) sem_post(&may_end);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], 0);
  if (atomic_load(&ended) != kThreads) wrong("%d threads have ended", atomic_load(&ended));
}

// --- held: two threads have SIGFPE and SIGTRAP blocked. With the first byte both are sent to both;
// with the second one they open their masks
static atomic_int handled[2], sent_from_elsewhere;
static void count_signal(int sig, siginfo_t* info, void* unused) {
  (void)unused;
  atomic_fetch_add(&handled[sig == SIGTRAP], 1);
  if (info->si_pid != getpid()) atomic_fetch_add(&sent_from_elsewhere, 1);
}
static void change_mask(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGFPE);
  sigaddset(&set, SIGTRAP);
  note("pthread_sigmask", pthread_sigmask(how, &set, 0));
}
static sem_t may_open;
static void* block_and_wait(void* tid) {
  change_mask(SIG_BLOCK);
  atomic_store((atomic_int*)tid, (int)syscall(SYS_gettid));
  while (sem_wait(&may_open) != 0) {
  }
  change_mask(SIG_UNBLOCK);
  return 0;
}
static void ends_held(const char* unused) {
  (void)unused;
  pthread_t thread;
  atomic_int tid = 0;
  struct sigaction action = {};
  action.sa_sigaction = count_signal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGFPE, &action, 0);
  sigaction(SIGTRAP, &action, 0);
  sem_init(&may_open, 0, 0);
  pthread_create(&thread, 0, block_and_wait, &tid);
  while (atomic_load(&tid) == 0) usleep(1000);
  change_mask(SIG_BLOCK);
  ready();
  wait_until_told();
  for (int sig = SIGTRAP; sig <= SIGFPE; sig += SIGFPE - SIGTRAP) {
    noted("tgkill", syscall(SYS_tgkill, getpid(), atomic_load(&tid), sig));
    noted("tgkill", syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), sig));
  }
  if (write(STDERR_FILENO, "sent\n", 5) != 5) abort();
  wait_until_told();
  if (handled[0] || handled[1]) wrong("%d and %d came while blocked", handled[0], handled[1]);
  sem_post(&may_open);
  pthread_join(thread, 0);
  change_mask(SIG_UNBLOCK);
  if (handled[0] != 2 || handled[1] != 2) wrong("%d and %d came", handled[0], handled[1]);
  if (sent_from_elsewhere) wrong("somebody else seems to have sent %d", sent_from_elsewhere);
}

// --- inline-hook: another tool's jump at the entry of a function that the agent hooks as well
static atomic_int hooked;
static void count_hook(void) { atomic_fetch_add(&hooked, 1); }
static void ends_inline_hook(const char* unused) {
  (void)unused;
  // unshare() begins with `mov $number, %eax`, which the jump displaces.
  unsigned char* entry = (unsigned char*)dlsym(RTLD_DEFAULT, "unshare");
  const unsigned char wanted[] = {0xb8, SYS_unshare & 255, SYS_unshare >> 8, 0, 0};
  if (memcmp(entry, wanted, sizeof wanted) != 0) not_offered("the entry of unshare()");
  unsigned char* near = 0;
  unsigned char* first = (unsigned char*)(((unsigned long)entry & ~65535ul) - (64 << 20));
  for (unsigned char* at = first; at < entry && !near; at += 65536) {
    void* made = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == at)
      near = at;
    else
      munmap(made, 4096);
  }
  if (!near) not_offered("memory near libc");
  // push rdi, rsi; sub 8; mov $count_hook, %rax; call *%rax; add 8; pop; pop; the mov; jmp back
  static const unsigned char code[] = {0x57, 0x56, 0x48, 0x83, 0xec, 8, 0x48, 0xb8,
                                       0,    0,    0,    0,    0,    0, 0,    0,
                                       0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0x5e, 0x5f};
  void (*counts)(void) = count_hook;
  memcpy(near, code, sizeof code);
  memcpy(near + 8, &counts, 8);
  memcpy(near + sizeof code, wanted, 5);
  unsigned char jump[5] = {0xe9};
  int distance = (int)(entry + 5 - (near + sizeof code + 10));
  memcpy(jump + 1, &distance, 4);
  memcpy(near + sizeof code + 5, jump, 5);
  distance = (int)(near - (entry + 5));
  memcpy(jump + 1, &distance, 4);
  unsigned char* page = (unsigned char*)((unsigned long)entry & ~4095ul);
  mprotect(near, 4096, PROT_READ | PROT_EXEC);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) not_offered("mprotect");
  memcpy(entry, jump, 5);
  mprotect(page, 8192, PROT_READ | PROT_EXEC);
  ready();
  int calls = 0;
  for (; !told(); calls++) {
    noted("unshare", unshare(0));
    usleep(1000);
  }
  // The agent's own thread calls it as well.
  if (atomic_load(&hooked) < calls) wrong("%d hooks of %d calls", atomic_load(&hooked), calls);
  if (memcmp(entry, jump, 5) != 0) wrong("the hook is not there any more");
}

static const struct word kWords[] = {
    {"old-threads", ends_old_threads},
    {"held", ends_held},
    {"inline-hook", ends_inline_hook},
    {0, 0},
};

int main(int argc, char** argv) { return run_word(kWords, argc, argv); }
