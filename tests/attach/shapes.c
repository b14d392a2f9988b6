// SPDX-License-Identifier: MIT
// Processes of a strange shape: cases 11, 12, 30 to 38 and 82. shapes WORD [ARGUMENT].
#include <asm/prctl.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "attach_case.h"

static _Atomic int stop, begun;

// A thread that waits in a read until its end is written to.
static int release_pipe[2];
static void* wait_for_release(void* unused) {
  (void)unused;
  char byte;
  atomic_fetch_add(&begun, 1);
  noted("read of a thread", read(release_pipe[0], &byte, 1));
  return 0;
}
static void make_pipe(void) {
  if (pipe(release_pipe) != 0) abort();
}
static void await_begun(int count) {
  while (atomic_load(&begun) < count) usleep(1000);
}

// --- 11: the parent is in vfork(): it can neither be stopped nor run
static void shape_vfork(const char* companion) {
  pthread_t thread;
  make_pipe();
  if (*companion) pthread_create(&thread, 0, wait_for_release, 0), await_begun(1);
  pid_t child = vfork();
  if (child == 0) {
    char byte;
    ready();
    _exit(read(STDIN_FILENO, &byte, 1) >= 0 ? 7 : 8);
  }
  end_child(child);
  close(release_pipe[1]);
  if (*companion) pthread_join(thread, 0);
}

// --- 12: a thread in state D: it asks a file system that never answers. ARGUMENT: a folder.
static void* ask_in_vain(void* folder) {
  char path[PATH_MAX];
  struct stat about;
  snprintf(path, sizeof path, "%s/file", (const char*)folder);
  atomic_store(&begun, 1);
  noted("stat of a dead file system", stat(path, &about));
  return 0;
}
static void shape_fuse(const char* folder) {
  char options[128];
  pthread_t thread;
  int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fuse < 0) not_offered("/dev/fuse");
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
  if (mount("attach-case", folder, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
    not_offered("mount of fuse");
  pthread_create(&thread, 0, ask_in_vain, (void*)folder);
  await_begun(1);
  usleep(50000);
  ready();
  wait_until_told();
  close(fuse);  // the file system is dead now, and the thread gets its error
  pthread_join(thread, 0);
  umount2(folder, MNT_DETACH);
}

// --- 30: the first thread has left
static void* outlive_main(void* main_thread) {
  pthread_join(*(pthread_t*)main_thread, 0);
  ready();
  wait_until_told();
  exit(finish());
}
static void shape_leader_exit(const char* unused) {
  (void)unused;
  static pthread_t main_thread, thread;
  main_thread = pthread_self();
  pthread_create(&thread, 0, outlive_main, &main_thread);
  pthread_exit(0);
}

// --- 31: many threads
static void shape_threads(const char* argument) {
  int count = atoi(argument);
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  make_pipe();
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], &small, wait_for_release, 0) != 0) not_offered("threads");
  await_begun(count);
  ready();
  wait_until_told();
  close(release_pipe[1]);
  for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
  free(threads);
}

// --- 32: threads that are born and die all the time, detached
static _Atomic long born, died;
static void* be_born_and_die(void* unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) __asm__ volatile("");
  atomic_fetch_add(&died, 1);
  return 0;
}
static void* bear(void* unused) {
  (void)unused;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  while (!atomic_load(&stop)) {
    pthread_t thread;
    if (atomic_load(&born) - atomic_load(&died) > 16) {
      sched_yield();
      continue;
    }
    atomic_fetch_add(&born, 1);
    if (note("pthread_create", pthread_create(&thread, &detached, be_born_and_die, 0)) != 0)
      atomic_fetch_sub(&born, 1);
  }
  return 0;
}
static void shape_born(const char* unused) {
  (void)unused;
  pthread_t thread;
  pthread_create(&thread, 0, bear, 0);
  ready();
  wait_until_told();
  atomic_store(&stop, 1);
  pthread_join(thread, 0);
  for (int i = 0; i < 10000 && atomic_load(&born) != atomic_load(&died); i++) usleep(1000);
  if (atomic_load(&born) != atomic_load(&died)) wrong("a thread is missing");
}

// --- 33: threads that block every signal, also those of faults
static sigset_t all_signals;
static void check_mask(void) {
  sigset_t now, wanted = all_signals;
  sigdelset(&wanted, SIGKILL), sigdelset(&wanted, SIGSTOP);
  pthread_sigmask(SIG_BLOCK, 0, &now);
  sigdelset(&now, SIGKILL), sigdelset(&now, SIGSTOP);
  for (int i = 1; i < 32; i++)
    if (sigismember(&now, i) != sigismember(&wanted, i)) wrong("signal %d is not blocked", i);
}
static void* block_and_wait(void* unused) {
  pthread_sigmask(SIG_SETMASK, &all_signals, 0);
  wait_for_release(unused);
  check_mask();
  return 0;
}
static void* block_and_run(void* unused) {
  (void)unused;
  pthread_sigmask(SIG_SETMASK, &all_signals, 0);
  atomic_fetch_add(&begun, 1);
  while (!atomic_load(&stop)) check_mask();
  return 0;
}
static void shape_blocked(const char* unused) {
  (void)unused;
  pthread_t threads[4];
  make_pipe();
  sigfillset(&all_signals);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, i ? block_and_wait : block_and_run, 0);
  await_begun(4);
  pthread_sigmask(SIG_SETMASK, &all_signals, 0);
  ready();
  wait_until_told();
  check_mask();
  atomic_store(&stop, 1);
  close(release_pipe[1]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}

// The same by threads that do little else, so that one is in the middle of libc's function mostly;
// others set a disposition and look what it is.
static void think(void) {
  for (int i = 0; i < 4000; i++) __asm__ volatile("");
}
static void* block_and_ask(void* unused) {
  (void)unused;
  atomic_fetch_add(&begun, 1);
  while (!atomic_load(&stop)) {
    pthread_sigmask(SIG_SETMASK, &all_signals, 0);
    check_mask();
    think();
  }
  return 0;
}
static void one_handler(int signal) { (void)signal; }
static void other_handler(int signal) { (void)signal; }
static void* set_and_ask(void* signal) {
  struct sigaction action = {0}, now;
  action.sa_handler = one_handler;
  sigaction((int)(long)signal, &action, 0);
  atomic_fetch_add(&begun, 1);
  for (long i = 0; !atomic_load(&stop); i++) {
    action.sa_handler = i % 2 ? other_handler : one_handler;
    sigaction((int)(long)signal, &action, 0);
    sigaction((int)(long)signal, 0, &now);
    think();
    if (now.sa_handler != action.sa_handler)
      wrong("signal %d has another handler", (int)(long)signal);
  }
  return 0;
}
static void shape_asking(const char* unused) {
  (void)unused;
  pthread_t threads[4];
  sigfillset(&all_signals);
  pthread_create(&threads[0], 0, block_and_ask, 0);
  pthread_create(&threads[1], 0, block_and_ask, 0);
  pthread_create(&threads[2], 0, set_and_ask, (void*)(long)SIGTRAP);
  pthread_create(&threads[3], 0, set_and_ask, (void*)(long)SIGSEGV);
  await_begun(4);
  ready();
  wait_until_told();
  atomic_store(&stop, 1);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}

// --- 83: one of several threads executes the program again and again, as often as it is told
static char* times;
static void* execute_again(void* unused) {
  const long turns = 20000 + (getpid() * 7919L + atoi(times) * 104729L) % 400000;
  char left[16];
  (void)unused;
  for (long i = 0; i < turns; i++) {  // it runs, so it is stopped last
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, 0, &now);
  }
  snprintf(left, sizeof left, "%d", atoi(times) - 1);
  if (atoi(times) <= 1) _exit(0);
  execl("/proc/self/exe", "shapes", "executing", left, (char*)0);
  return 0;
}
static void shape_executing(const char* count) {
  pthread_t thread;
  times = (char*)count;
  for (int i = 0; i < 5; i++) pthread_create(&thread, 0, set_and_ask, (void*)(long)SIGUSR1);
  pthread_create(&thread, 0, execute_again, 0);
  for (;;) pause();
}

// --- 34: threads of the real-time class, bound to a processor
static void check_class(int policy) {
  cpu_set_t set;
  if (sched_getscheduler(0) != policy) wrong("the scheduling class has changed");
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1)
    wrong("the processors have changed");
}
static void* run_in_class(void* policy) {
  struct sched_param priority = {1};
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((long)policy % 2 && sysconf(_SC_NPROCESSORS_ONLN) > 1, &set);
  if (sched_setscheduler(0, (int)(long)policy, &priority) != 0) not_offered("sched_setscheduler");
  sched_setaffinity(0, sizeof set, &set);
  wait_for_release(0);
  check_class((int)(long)policy);
  return 0;
}
static void shape_realtime(const char* unused) {
  (void)unused;
  pthread_t threads[2];
  make_pipe();
  pthread_create(&threads[0], 0, run_in_class, (void*)(long)SCHED_FIFO);
  pthread_create(&threads[1], 0, run_in_class, (void*)(long)SCHED_RR);
  await_begun(2);
  ready();
  wait_until_told();
  if (sched_getscheduler(0) != SCHED_OTHER) wrong("the scheduling class has changed");
  close(release_pipe[1]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}

// --- 35: a thread with a filter of system calls, or a mount namespace, of its own
static void* filter_itself(void* unused) {
  struct sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
                               {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mmap},
                               {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
                               {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) not_offered("seccomp");
  return wait_for_release(unused);
}
static void* own_mounts(void* unused) {
  if (unshare(CLONE_FS | CLONE_NEWNS) != 0) not_offered("unshare");
  return wait_for_release(unused);
}
static void run_one(void* (*run)(void*)) {
  pthread_t thread;
  make_pipe();
  pthread_create(&thread, 0, run, 0);
  await_begun(1);
  ready();
  wait_until_told();
  close(release_pipe[1]);
  pthread_join(thread, 0);
}
static void shape_thread_filter(const char* unused) {
  (void)unused;
  run_one(filter_itself);
}
static void shape_thread_mounts(const char* unused) {
  (void)unused;
  run_one(own_mounts);
}

// --- 36: a thread of a bare clone(), without thread-local data: only system calls of its own
static int raw_stop, raw_count;
static void run_raw(void) {
  long answer;
  __asm__ volatile("syscall"
                   : "=a"(answer)
                   : "a"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(0)
                   : "rcx", "r11", "memory");
  while (!__atomic_load_n(&raw_stop, __ATOMIC_ACQUIRE)) {
    const struct timespec time = {0, 1000000};
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(SYS_nanosleep), "D"(&time), "S"(0)
                     : "rcx", "r11", "memory");
    if (answer != 0) __atomic_store_n(&raw_count, -1000000000, __ATOMIC_RELEASE);
    __atomic_fetch_add(&raw_count, 1, __ATOMIC_RELEASE);
  }
}
static void shape_raw_clone(const char* unused) {
  (void)unused;
  static int left;
  char* stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* top = stack + 65536 - 24;  // aligned behind the pop and the call
  *(void**)top = (void*)run_raw;
  long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
               CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
  long thread;
  register long clear __asm__("r10") = (long)&left;
  __asm__ volatile(
      "syscall\n test %%rax, %%rax\n jnz 1f\n"
      "pop %%rax\n call *%%rax\n mov %[exit], %%eax\n xor %%edi, %%edi\n syscall\n"
      "1:"
      : "=a"(thread)
      : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0), "r"(clear), [exit] "i"(SYS_exit)
      : "rcx", "r11", "memory");
  if (thread < 0) abort();
  ready();
  wait_until_told();
  __atomic_store_n(&raw_stop, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 10000 && __atomic_load_n(&left, __ATOMIC_ACQUIRE) != 0; i++) usleep(1000);
  if (__atomic_load_n(&left, __ATOMIC_ACQUIRE) != 0) wrong("the bare thread has not ended");
  if (__atomic_load_n(&raw_count, __ATOMIC_ACQUIRE) < 0) wrong("nanosleep was interrupted");
}

// --- 37: fibers: stacks of the program's own, switched all the time
enum { kFibers = 8 };
static ucontext_t scheduler, fibers[kFibers];
static void run_fiber(int number) {
  for (long i = 0; !atomic_load(&stop); i++) {
    volatile long kept[64];
    for (int k = 0; k < 64; k++) kept[k] = i + k + number;
    swapcontext(&fibers[number], &scheduler);
    for (int k = 0; k < 64; k++)
      if (kept[k] != i + k + number) wrong("a fiber's stack has changed");
  }
}
static void* run_fibers(void* unused) {
  (void)unused;
  for (int i = 0; i < kFibers; i++) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_sp = malloc(32768);
    fibers[i].uc_stack.ss_size = 32768;
    fibers[i].uc_link = &scheduler;
    makecontext(&fibers[i], (void (*)(void))run_fiber, 1, i);
  }
  while (!atomic_load(&stop))
    for (int i = 0; i < kFibers; i++) swapcontext(&scheduler, &fibers[i]);
  return 0;
}
static void shape_fibers(const char* unused) {
  (void)unused;
  pthread_t thread;
  pthread_create(&thread, 0, run_fibers, 0);
  ready();
  wait_until_told();
  atomic_store(&stop, 1);
  pthread_join(thread, 0);
}

// --- 38: stacks as small as libc allows, filled to the brim while the thread waits
static void* fill_stack(void* unused) {
  (void)unused;
  pthread_attr_t attributes;
  void* lowest;
  size_t size;
  char byte;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  // All below this frame but a kilobyte for the calls to come: a signal's frame would not fit.
  char* end = (char*)__builtin_frame_address(0) - 1024;
  for (char* at = lowest; at < end; at++) *(volatile char*)at = 0x3c;
  atomic_fetch_add(&begun, 1);
  long answer;
  __asm__ volatile("syscall"
                   : "=a"(answer)
                   : "a"(SYS_read), "D"(release_pipe[0]), "S"(&byte), "d"(1)
                   : "rcx", "r11", "memory");
  for (char* at = lowest; at < end; at++)
    if (*(volatile char*)at != 0x3c) return wrong("the stack was written to"), (void*)0;
  note("read of a thread", answer < 0 ? (int)-answer : 0);
  return 0;
}
static void shape_small_stacks(const char* unused) {
  (void)unused;
  pthread_attr_t small;
  pthread_t threads[4];
  make_pipe();
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  for (int i = 0; i < 4; i++)
    if (pthread_create(&threads[i], &small, fill_stack, 0) != 0) abort();
  await_begun(4);
  ready();
  wait_until_told();
  close(release_pipe[1]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}

// --- 82: forks when it is told; the child says its number on stderr and waits for the next byte
static void shape_fork(const char* unused) {
  (void)unused;
  int status = 0;
  ready();
  wait_until_told();
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fprintf(stderr, "child %d\n", (int)getpid());
    wait_until_told();
    int result = finish();
    _exit(result);
  }
  if (noted("waitpid", waitpid(child, &status, 0)) != child || status != 0)
    wrong("the child ended with %#x", status);
}

static const struct word kWords[] = {
    {"vfork", shape_vfork},
    {"fuse", shape_fuse},
    {"leader-exit", shape_leader_exit},
    {"threads", shape_threads},
    {"born", shape_born},
    {"blocked", shape_blocked},
    {"asking", shape_asking},
    {"executing", shape_executing},
    {"realtime", shape_realtime},
    {"thread-filter", shape_thread_filter},
    {"thread-mounts", shape_thread_mounts},
    {"raw-clone", shape_raw_clone},
    {"fibers", shape_fibers},
    {"small-stacks", shape_small_stacks},
    {"fork", shape_fork},
    {0, 0},
};

int main(int argc, char** argv) { return run_word(kWords, argc, argv); }
