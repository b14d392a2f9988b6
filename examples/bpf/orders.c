// SPDX-License-Identifier: MIT
//
// A program to watch: each order goes through sold(), which has a USDT probe, orders:sold. Patchbay
// records the call (-e 'sold(int item, long price, string customer)') or the probe
// (-e sdt_orders:sold); BPF programs attach to the probe. docs/ebpf.md has the commands.
//
//   orders [ORDERS_OF_A_THREAD [THREADS]]
//
// At the end it prints what it has sold, a customer a line: what all others have to agree with.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

enum { kCustomers = 5, kMostThreads = 64 };
static const char *const kNames[kCustomers] = {"ada", "grace", "edsger", "barbara", "ken"};

struct Sums {
  long orders, takings;
};
static struct Sums sums[kMostThreads][kCustomers];
static long orders = 1000;

__attribute__((noinline, noclone)) void sold(int item, long price, const char *customer) {
  DTRACE_PROBE3(orders, sold, item, price, customer);
}

// The same orders in each run.
static void *sell(void *thread_sums) {
  struct Sums *own = thread_sums;
  for (long i = 0; i < orders; i++) {
    const int customer = (int)(i * i % 7 % kCustomers);
    // A BPF program cannot read a page that nobody has touched yet, so the name is read here.
    const long price = (i * 37 + *(const volatile char *)kNames[customer]) % 1000;
    sold((int)i, price, kNames[customer]);
    own[customer].orders++;
    own[customer].takings += price;
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[kMostThreads];
  if (argc > 1) orders = atol(argv[1]);
  long nr_threads = argc > 2 ? atol(argv[2]) : 1;
  if (nr_threads < 1 || nr_threads > kMostThreads) nr_threads = 1;
  for (long i = 0; i < nr_threads; i++) pthread_create(&threads[i], NULL, sell, sums[i]);
  for (long i = 0; i < nr_threads; i++) pthread_join(threads[i], NULL);
  for (int customer = 0; customer < kCustomers; customer++) {
    struct Sums all = {0, 0};
    for (long i = 0; i < nr_threads; i++) {
      all.orders += sums[i][customer].orders;
      all.takings += sums[i][customer].takings;
    }
    printf("%s %ld %ld\n", kNames[customer], all.orders, all.takings);
  }
  return 0;
}
