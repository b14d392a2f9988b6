// SPDX-License-Identifier: MIT
//
// Threads begin on one CPU while another one is busy: libc registers a thread for restartable
// sequences a little after its first functions have run.
//
//   thread_birth THREADS
//
// The first thread calls birth_busy() on CPU 0 without a pause; THREADS threads, one after the
// other, begin on CPU 1 and call birth_body() once. Prints how often each was called. Exits 77
// where there are no two CPUs.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#define CALL extern "C" __attribute__((noinline, used))

static std::atomic<bool> done;
static std::atomic<unsigned long> bodies;
static unsigned long busy;

CALL void birth_busy(unsigned long n) {
  for (int i = 0; i < 10; i++) __builtin_ia32_pause();
  __asm__ volatile("" : : "r"(n) : "memory");
}
CALL void* birth_body(void* argument) {
  bodies++;
  return argument;
}

static bool pin(int cpu, pthread_attr_t* attr) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return attr ? pthread_attr_setaffinity_np(attr, sizeof set, &set) == 0
              : sched_setaffinity(0, sizeof set, &set) == 0;
}

// Of another CPU than the first thread's, so that what it makes begins there.
static void* make_threads(void* count) {
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pin(1, nullptr);
  pin(1, &attr);
  for (unsigned long i = 0; i < reinterpret_cast<unsigned long>(count); i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attr, birth_body, nullptr) == 0) pthread_join(thread, nullptr);
  }
  done = true;
  return nullptr;
}

int main(int argc, char** argv) {
  const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
  pthread_t maker;
  if (!pin(0, nullptr)) return 77;
  if (pthread_create(&maker, nullptr, make_threads, reinterpret_cast<void*>(count)) != 0) return 1;
  for (; !done; busy++) birth_busy(busy);
  pthread_join(maker, nullptr);
  std::printf("busy %lu\nbody %lu\n", busy, bodies.load());
}
