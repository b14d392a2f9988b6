// SPDX-License-Identifier: MIT
// A thread that never waits, or not in a place that anybody would choose: cases 13 to 17 and 40.
// A child looks at stdin, so that the loops have no system call of their own. loops WORD.
#include <immintrin.h>
#include <linux/rseq.h>
#include <setjmp.h>
#include <sys/rseq.h>
#include <sys/time.h>

#include "attach_case.h"

static _Atomic int* stop;
static void set_stop(pid_t parent) {
  (void)parent;
  atomic_store(stop, 1);
}
static int stopped(void) { return atomic_load_explicit(stop, memory_order_relaxed); }

// --- 13: the same sum twice, in registers
static void loop_tight(const char* unused) {
  (void)unused;
  pid_t child = wake_by_child(set_stop);
  unsigned long a = 1, b = 1;
  ready();
  while (!stopped()) {
    for (int i = 0; i < 1000; i++) {
      a = a * 6364136223846793005UL + 1;
      b = b * 6364136223846793005UL + 1;
      __asm__ volatile("" : "+r"(a), "+r"(b));
    }
    if (a != b) wrong("a register has changed");
  }
  end_child(child);
}

// --- 14: time never goes back
static void loop_vdso(const char* unused) {
  (void)unused;
  pid_t child = wake_by_child(set_stop);
  long long last = 0;
  ready();
  while (!stopped()) {
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) wrong("clock_gettime failed");
    long long now = time.tv_sec * 1000000000LL + time.tv_nsec;
    if (now < last) wrong("the clock went back");
    last = now;
  }
  end_child(child);
}

// --- 15: inside of a handler that has a stack of its own
static char* alternate;
enum { kAlternate = 65536 };
static int handler_reads;
static void stay_in_handler(int number) {
  char here, byte;
  (void)number;
  if (&here < alternate || &here >= alternate + kAlternate) wrong("not on the alternate stack");
  ready();
  if (handler_reads) {
    noted("read in a handler", read(STDIN_FILENO, &byte, 1));
    return;
  }
  unsigned char filled[4096];
  memset(filled, 0x5a, sizeof filled);
  while (!stopped())
    for (size_t i = 0; i < sizeof filled; i++)
      if (((volatile unsigned char*)filled)[i] != 0x5a) wrong("the stack was written to");
}
static void on_alternate_stack(void) {
  struct sigaction action;
  alternate = mmap(0, kAlternate, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {alternate, 0, kAlternate};
  if (sigaltstack(&stack, 0) != 0) abort();
  memset(&action, 0, sizeof action);
  action.sa_handler = stay_in_handler;
  action.sa_flags = SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR2, &action, 0);
  raise(SIGUSR2);
  stack_t after;
  sigaltstack(0, &after);
  if (after.ss_sp != alternate || after.ss_flags != 0) wrong("the alternate stack has changed");
}
static void loop_altstack(const char* unused) {
  (void)unused;
  pid_t child = wake_by_child(set_stop);
  on_alternate_stack();
  end_child(child);
}
static void loop_altstack_read(const char* unused) {
  (void)unused;
  handler_reads = 1;
  on_alternate_stack();
}

// --- 16: a handler that jumps out, a thousand times a second
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;
static void jump(int number) {
  (void)number;
  if (may_jump) siglongjmp(back, 1);
}
static void loop_longjmp(const char* unused) {
  (void)unused;
  pid_t child = wake_by_child(set_stop);
  struct itimerval each = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  static volatile long jumps;
  signal(SIGALRM, jump);
  setitimer(ITIMER_REAL, &each, 0);
  ready();
  while (!stopped()) {
    if (sigsetjmp(back, 1) != 0) jumps++;
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    if (sigismember(&mask, SIGALRM)) wrong("the mask was not put back");
    may_jump = 1;
    for (int i = 0; i < 100000 && !stopped(); i++) __asm__ volatile("" : "+r"(i));
    may_jump = 0;
  }
  may_jump = 0;
  setitimer(ITIMER_REAL, &never, 0);
  if (jumps < 3) wrong("the handler has hardly run");
  end_child(child);
}

// Signals with numbers: none lost, none twice, none out of order.
enum { kMostSignals = 1000000 };
static volatile int next_signal;
static void check_number(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  if (info->si_value.sival_int != next_signal) wrong("a signal out of order");
  next_signal = info->si_value.sival_int + 1;
}
static void send_numbers(pid_t parent) {
  struct pollfd in = {STDIN_FILENO, POLLIN, 0};
  int sent = 0;
  while (sent < kMostSignals && poll(&in, 1, 1) == 0)
    for (int i = 0; i < 20; i++) {
      const union sigval value = {.sival_int = sent};
      while (sigqueue(parent, SIGRTMIN, value) != 0) usleep(1000);
      sent++;
    }
  atomic_store(stop + 1, sent);
  atomic_store(stop, 1);
}
static pid_t numbers_by_child(void) {
  pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  send_numbers(parent);
  _exit(7);
}
static void loop_signals(const char* unused) {
  (void)unused;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = check_number;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN, &action, 0);
  pid_t child = numbers_by_child();
  unsigned long sum = 1;
  ready();
  while (!stopped())
    for (int i = 0; i < 1000; i++) sum = sum * 3 + 1;
  __asm__ volatile("" ::"r"(sum));
  end_child(child);
  const int sent = atomic_load(stop + 1);
  for (int i = 0; i < 1000 && next_signal < sent; i++) usleep(1000);
  if (next_signal != sent) wrong("%d signals of %d were handled", next_signal, sent);
}

// --- 17: a counter for each processor, in a restartable sequence, by two threads
enum { kProcessors = 1024 };
static struct { long count; char rest[56]; } counters[kProcessors];
static struct rseq* own_rseq(void) {
  return (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
}
// The sequence is long on purpose, so that a stop falls into it.
static void add_one(void) {
  struct rseq* area = own_rseq();
  long passes, count;
  unsigned processor;
  __asm__ volatile(
      ".pushsection __rseq_cs, \"aw\"\n"
      ".balign 32\n"
      "3: .long 0, 0\n"
      ".quad 1f, 2f - 1f, 4f\n"
      ".popsection\n"
      "6: lea 3b(%%rip), %0\n"
      "mov %0, %4\n"
      "1: mov %5, %2\n"
      "mov %2, %k1\n"
      "shl $6, %1\n"
      "mov $200, %0\n"
      "5: dec %0\n"
      "jnz 5b\n"
      "add %6, %1\n"
      "incq (%1)\n"
      "2: jmp 7f\n"
      ".byte 0x0f, 0xb9, 0x3d\n"
      ".long 0x53053053\n"
      "4: jmp 6b\n"
      "7:\n"
      : "=&r"(passes), "=&r"(count), "=&r"(processor), "+m"(counters), "=m"(area->rseq_cs)
      : "m"(area->cpu_id), "r"(&counters[0])
      : "memory", "cc");
}
static void* count_in_sequences(void* counted) {
  while (!stopped()) {
    add_one();
    ++*(long*)counted;
  }
  return 0;
}
static void loop_rseq(const char* unused) {
  (void)unused;
  if (__rseq_size == 0) not_offered("rseq");
  pid_t child = wake_by_child(set_stop);
  long counted[2] = {0, 0}, sum = 0;
  pthread_t thread;
  pthread_create(&thread, 0, count_in_sequences, &counted[0]);
  ready();
  count_in_sequences(&counted[1]);
  pthread_join(thread, 0);
  for (int i = 0; i < kProcessors; i++) sum += counters[i].count;
  if (sum != counted[0] + counted[1])
    wrong("%ld counted of %ld", sum, counted[0] + counted[1]);
  end_child(child);
}

// --- 40: vectors that live in registers over the stop, in a loop and around a system call
__attribute__((target("avx512f"))) static void loop_avx512(const char* unused) {
  (void)unused;
  if (!__builtin_cpu_supports("avx512f")) not_offered("avx512f");
  pid_t child = wake_by_child(set_stop);
  const __m512i first = _mm512_set1_epi64(0x0123456789abcdef);
  ready();
  while (!stopped()) {
    __m512i a = first, b = _mm512_slli_epi64(first, 1);
    __mmask16 mask = 0xa5c3;
    for (int i = 0; i < 10000; i++) __asm__ volatile("" : "+v"(a), "+v"(b), "+Yk"(mask));
    long answer = 39;  // getpid, inlined: nothing of libc saves these registers
    __asm__ volatile("syscall" : "+a"(answer), "+v"(a), "+v"(b), "+Yk"(mask)::"rcx", "r11");
    if (answer != getpid()) wrong("getpid answers %ld", answer);
    if (_mm512_cmpneq_epi64_mask(a, first) ||
        _mm512_cmpneq_epi64_mask(b, _mm512_slli_epi64(first, 1)) || mask != 0xa5c3)
      wrong("a vector register has changed");
  }
  end_child(child);
}
// The same for the registers of a wait: the inlined read counts on them.
__attribute__((target("avx2"))) static void loop_avx_read(const char* unused) {
  (void)unused;
  if (!__builtin_cpu_supports("avx2")) not_offered("avx2");
  const __m256i first = _mm256_set1_epi64x(0x0123456789abcdef);
  __m256i a = first, b = _mm256_slli_epi64(first, 3);
  char byte;
  long answer = 0;
  ready();
  __asm__ volatile("syscall"
                   : "+a"(answer), "+x"(a), "+x"(b)
                   : "D"(STDIN_FILENO), "S"(&byte), "d"(1)
                   : "rcx", "r11", "memory");
  note("read", answer < 0 ? (int)-answer : 0);
  b = _mm256_xor_si256(b, _mm256_slli_epi64(first, 3));
  a = _mm256_or_si256(_mm256_xor_si256(a, first), b);
  if (!_mm256_testz_si256(a, a)) wrong("a vector register has changed");
}

static const struct word kWords[] = {
    {"tight", loop_tight},
    {"vdso", loop_vdso},
    {"altstack", loop_altstack},
    {"altstack-read", loop_altstack_read},
    {"longjmp", loop_longjmp},
    {"signals", loop_signals},
    {"rseq", loop_rseq},
    {"avx512", loop_avx512},
    {"avx-read", loop_avx_read},
    {0, 0},
};

int main(int argc, char** argv) {
  stop = shared_memory(2 * sizeof *stop);
  return run_word(kWords, argc, argv);
}
