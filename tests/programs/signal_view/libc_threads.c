// SPDX-License-Identifier: MIT
// Functions of the program's in threads that libc makes by itself: of SIGEV_THREAD timers, which
// begin with all signals blocked, mq_notify(), aio and getaddrinfo_a(), and in threads whose
// attributes block all. Each is hit at an int3 and with a bad pointer. With an argument the program
// first waits for a line.
// build: cc -O2 libc_threads.c -lrt -lpthread
// events: tiny(int n)
// events: deref(x64 v[0])
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int tiny(int n);
__asm__(
    ".text\n.p2align 4\n.globl tiny\n.type tiny, @function\n xor %eax, %eax\n ret\n"
    "tiny:\n lea 3(%rdi), %eax\n ret\n.size tiny, . - tiny\n xor %eax, %eax\n ret\n");
__attribute__((noinline)) long deref(long* p) {
  __asm__ volatile("" : "+r"(p)::"memory");
  return (long)p;
}

static sem_t done;
static volatile int value_is_right, hits, is_blocked;
static int value;
static void run(void) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, 0, &now);
  is_blocked = sigismember(&now, SIGTRAP);
  hits = 0;
  for (int i = 0; i < 100; i++) hits += tiny(i) == i + 3 && deref((long*)0x10) == 0x10;
}
static void notified(union sigval given) {
  run();
  value_is_right = given.sival_ptr == &value;
  sem_post(&done);
}
static void* thread(void* unused) {
  run();
  value_is_right = 1;
  sem_post(&done);
  return unused;
}
static void expect(const char* what, int blocked) {
  while (sem_wait(&done)) {
  }
  const int good = hits == 100 && value_is_right && (blocked < 0 || blocked == is_blocked);
  if (good) printf("%s: ok\n", what);
  if (!good) printf("%s: %d hits, value %d, blocked %d\n", what, hits, value_is_right, is_blocked);
}

int main(int argc, char** argv) {
  (void)argv;
  char line[16];
  if (argc > 1 && !fgets(line, sizeof line, stdin)) return 9;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified};
  event.sigev_value.sival_ptr = &value;
  sem_init(&done, 0, 0);
  setvbuf(stdout, 0, _IONBF, 0);

  timer_t timer;
  const struct itimerspec soon = {{0, 0}, {0, 1000000}};
  for (int i = 0; i < 3; i++) {
    timer_create(CLOCK_MONOTONIC, &event, &timer), timer_settime(timer, 0, &soon, 0);
    expect("timer", -1);
    timer_delete(timer);
  }

  struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
  char name[32];
  snprintf(name, sizeof name, "/guest%d", getpid());
  const mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
  mq_unlink(name);
  if (queue >= 0 && !mq_notify(queue, &event) && !mq_send(queue, "x", 1, 0)) expect("queue", -1);

  static char buffer[16];
  static struct aiocb block;
  block.aio_fildes = open("/proc/self/maps", O_RDONLY), block.aio_buf = buffer;
  block.aio_nbytes = 2, block.aio_sigevent = event;
  if (!aio_read(&block)) expect("aio", -1);

  static struct gaicb name_of = {.ar_name = "127.0.0.1"};
  struct gaicb* list[] = {&name_of};
  if (!getaddrinfo_a(GAI_NOWAIT, list, 1, &event)) expect("getaddrinfo_a", -1);

  pthread_attr_t attribute;
  pthread_t made;
  sigset_t all;
  sigfillset(&all), pthread_attr_init(&attribute), pthread_attr_setsigmask_np(&attribute, &all);
  pthread_create(&made, &attribute, thread, 0), pthread_join(made, 0);
  expect("blocked by attributes", 1);
  pthread_sigmask(SIG_BLOCK, &all, 0);
  sigemptyset(&all), pthread_attr_setsigmask_np(&attribute, &all);
  pthread_create(&made, &attribute, thread, 0), pthread_join(made, 0);
  expect("opened by attributes", 0);
  pthread_create(&made, 0, thread, 0), pthread_join(made, 0);
  expect("blocked by its creator", 1);
  return 0;
}
