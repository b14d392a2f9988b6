// SPDX-License-Identifier: MIT
// Static events whose nop is the first instruction of a function, or among its first ones. For each
// line of its input it calls every function 100 times, and says "done"; key_first COUNT makes so
// many calls at once.
#include <patchbay/trace_event.h>
#include <stdio.h>
#include <stdlib.h>

PB_TRACE_EVENT(app, hit, PB_FIELDS(PB_FIELD(int, n)), PB_PRINT("n=%d", REC->n));
PB_TRACE_EVENT(app, behind, PB_FIELDS(PB_FIELD(int, n)), PB_PRINT("n=%d", REC->n));

volatile int sum;

__attribute__((noinline)) void work(int n) { PB_TRACE(hit, n); }

// Its first instruction saves a register: the nop stands behind it.
__attribute__((noinline)) int deeper(int n) {
  PB_TRACE(behind, n);
  work(n);
  sum += n;
  return n + 1;
}

static void call(int count) {
  for (int n = 0; n < count; n++) sum += deeper(n) - n;
}

int main(int argc, char** argv) {
  char line[100];
  if (argc > 1) return call(atoi(argv[1])), printf("%d\n", sum), 0;
  while (fgets(line, sizeof line, stdin)) {
    call(100);
    printf("done\n");
    fflush(stdout);
  }
  return 0;
}
