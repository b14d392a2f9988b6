// SPDX-License-Identifier: MIT
// Threads are cancelled asynchronously while they are, most likely, in a probe on traced(): the
// unwinder goes from wherever they are to the frames that have something to clean up. Waits for a
// line on stdin first. tests/scripts/unwind.sh says what is traced.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "traced.h"

namespace {

constexpr int kThreads = 300;
int g_cleaned;  // by one thread after the other

struct Cleaned {
  ~Cleaned() { g_cleaned++; }
};

// Nothing to clean up in here: C++ promises nothing for a cancel at any instruction where there is.
__attribute__((noipa)) void loop() {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  for (;;) traced(1);
}

void* run(void* argument) {
  Cleaned cleaned;
  loop();
  return argument;
}

}  // namespace

int main() {
  getchar();
  for (int i = 0; i < kThreads; i++) {
    pthread_t thread;
    pthread_create(&thread, nullptr, run, nullptr);
    usleep(500);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  printf("%d of %d threads were cancelled and have cleaned up\n", g_cleaned, kThreads);
  return g_cleaned != kThreads;
}
