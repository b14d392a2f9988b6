// SPDX-License-Identifier: MIT
// Programs that do nothing but take locks of libc: cases 21 to 24 and 26 to 29. storms WORD N.
// malloc 1 is a program of one thread, where libc does not lock at all; its child looks at stdin.
#include <dlfcn.h>
#include <libgen.h>

#include "attach_case.h"

static _Atomic int* stop;
static void set_stop(pid_t parent) {
  (void)parent;
  atomic_store(stop, 1);
}
static int stopped(void) { return atomic_load_explicit(stop, memory_order_relaxed); }

// N threads run `work` until stdin says so, which the main thread waits for. One: itself.
enum { kMostThreads = 256 };
static void run_threads(const char* count, void* (*work)(void*)) {
  int threads = atoi(count);
  pthread_t ids[kMostThreads];
  if (threads > kMostThreads) abort();
  if (threads <= 1) {
    pid_t child = wake_by_child(set_stop);
    ready();
    work((void*)1L);
    end_child(child);
    return;
  }
  for (long i = 0; i < threads; i++)
    if (pthread_create(&ids[i], 0, work, (void*)(i + 1)) != 0) abort();
  ready();
  wait_until_told();
  set_stop(0);
  for (int i = 0; i < threads; i++) pthread_join(ids[i], 0);
}

static unsigned long next_random(unsigned long* seed) {
  *seed = *seed * 6364136223846793005UL + 1442695040888963407UL;
  return *seed >> 33;
}

// --- 21, 22: blocks of all sizes, filled, looked at, resized; some are freed by another thread
enum { kBlocks = 64 };
struct block {
  unsigned char* bytes;
  size_t size;
  unsigned char fill;
};
static _Atomic(void*) passed_on;
static void check_block(const struct block* block) {
  for (size_t i = 0; i < block->size; i += 61)
    if (block->bytes[i] != block->fill) wrong("a block was written to");
}
static void replace_block(struct block* block, unsigned long* seed) {
  size_t size = next_random(seed) % 64 == 0 ? 200000 : next_random(seed) % 3000 + 1;
  if (block->bytes) check_block(block);
  switch (next_random(seed) % 4) {
    case 0:
      block->bytes = realloc(block->bytes, size);
      break;
    case 1:
      free(atomic_exchange(&passed_on, block->bytes));
      block->bytes = malloc(size);
      break;
    default:
      free(block->bytes);
      block->bytes = malloc(size);
  }
  if (!block->bytes) abort();
  block->size = size;
  block->fill = (unsigned char)next_random(seed);
  memset(block->bytes, block->fill, size);
}
static void* allocate(void* seed_of_thread) {
  unsigned long seed = (unsigned long)seed_of_thread;
  struct block blocks[kBlocks];
  memset(blocks, 0, sizeof blocks);
  while (!stopped())
    for (int i = 0; i < kBlocks; i++) replace_block(&blocks[i], &seed);
  for (int i = 0; i < kBlocks; i++) free(blocks[i].bytes);
  return 0;
}
static void storm_malloc(const char* threads) { run_threads(threads, allocate); }

// --- 23: a library loaded and unloaded
static char folder[4096];
static const char* beside(const char* name) {
  static __thread char path[8192];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}
static void* load_and_unload(void* unused) {
  (void)unused;
  while (!stopped()) {
    void* library = dlopen(beside("small_so.so"), RTLD_NOW | RTLD_LOCAL);
    int (*answer)(int) = library ? (int (*)(int))dlsym(library, "small_answer") : 0;
    if (!answer || answer(1) != 2) wrong("dlopen: %s", dlerror());
    if (library && dlclose(library) != 0) wrong("dlclose: %s", dlerror());
  }
  return 0;
}
static void storm_dlopen(const char* threads) { run_threads(threads, load_and_unload); }

// --- 24, 28: a constructor that takes its time, or waits for a lock that the main thread holds
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;
static int constructor_seconds;
__attribute__((visibility("default"))) void in_slow_constructor(void);
void in_slow_constructor(void) {
  ready();
  if (constructor_seconds)
    sleep((unsigned)constructor_seconds);
  else
    pthread_mutex_lock(&program_lock), pthread_mutex_unlock(&program_lock);
}
static void* load_slowly(void* unused) {
  (void)unused;
  void* library = dlopen(beside("slow_so.so"), RTLD_NOW);
  int (*answer)(int) = library ? (int (*)(int))dlsym(library, "slow_answer") : 0;
  if (!answer || answer(1) != 3) wrong("dlopen: %s", dlerror());
  return 0;
}
static void storm_constructor(const char* seconds) {
  pthread_t thread;
  constructor_seconds = atoi(seconds);
  pthread_mutex_lock(&program_lock);
  pthread_create(&thread, 0, load_slowly, 0);
  wait_until_told();
  pthread_mutex_unlock(&program_lock);
  pthread_join(thread, 0);
}

// --- 26: threads
static void* add_three(void* number) { return (char*)number + 3; }
static void* make_threads(void* seed) {
  for (long i = (long)seed; !stopped(); i++) {
    pthread_t thread;
    void* result = 0;
    int error = note("pthread_create", pthread_create(&thread, 0, add_three, (void*)i));
    if (error) continue;
    note("pthread_join", pthread_join(thread, &result));
    if ((long)result != i + 3) wrong("a thread answered something else");
  }
  return 0;
}
static void storm_threads(const char* threads) { run_threads(threads, make_threads); }

// --- 27: processes, with handlers that hold a lock over fork
static pthread_mutex_t over_fork = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int prepared;
static void before_fork(void) {
  pthread_mutex_lock(&over_fork);
  atomic_fetch_add(&prepared, 1);
}
static void after_fork(void) {
  if (atomic_fetch_sub(&prepared, 1) != 1) _exit(9);
  pthread_mutex_unlock(&over_fork);
}
static void* make_processes(void* unused) {
  (void)unused;
  while (!stopped()) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      free(malloc(100));
      _exit(5);
    }
    if (noted("fork", child) < 0) continue;
    if (noted("waitpid of a child", waitpid(child, &status, 0)) != child || status != 5 << 8)
      wrong("a child ended with %#x", status);
  }
  return 0;
}
static void storm_fork(const char* threads) {
  pthread_atfork(before_fork, after_fork, after_fork);
  run_threads(threads, make_processes);
}

// --- 29: a lock of stdio that is held while the thread waits
static void* print_line(void* unused) {
  (void)unused;
  printf("from the thread\n");
  return 0;
}
static void storm_stdio(const char* unused) {
  (void)unused;
  pthread_t thread;
  flockfile(stdout);
  flockfile(stderr);
  pthread_create(&thread, 0, print_line, 0);
  ready();
  wait_until_told();
  printf("from main\n");
  funlockfile(stderr);
  funlockfile(stdout);
  pthread_join(thread, 0);
}

// --- libc has every thread of the process make the call, and waits for them with the lock that a
// new thread takes: one of ours that does not take libc's signal stops them all
static void* change_user(void* unused) {
  const uid_t user = getuid();
  while (!stopped())
    if (setresuid(user, user, user) != 0) wrong("setresuid: %s", strerror(errno));
  return unused;
}
static void storm_setuid(const char* count) { run_threads(count, change_user); }

static const struct word kWords[] = {
    {"malloc", storm_malloc},
    {"dlopen", storm_dlopen},
    {"constructor", storm_constructor},
    {"threads", storm_threads},
    {"fork", storm_fork},
    {"stdio", storm_stdio},
    {"setuid", storm_setuid},
    {0, 0},
};

int main(int argc, char** argv) {
  ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (size < 0) return 2;
  dirname(folder);
  stop = shared_memory(sizeof *stop);
  return run_word(kWords, argc, argv);
}
