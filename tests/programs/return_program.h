// SPDX-License-Identifier: MIT
// What the return_* programs share: functions that stay functions, and the moments at which
// tests/scripts/returns.sh looks. RETURN_GATE in the environment names a file: each gate adds a
// byte to it, and waits for a line on stdin. The programs write down how often they called what
// always returns: "calls NAME N".
#pragma once

#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define KEEP __attribute__((noinline, optnone))
#else
#define KEEP __attribute__((noipa))
#endif

// Keeps a compiler from making a loop of a recursion.
static inline long after_call(long value) {
  __asm__ volatile("" : "+r"(value) : : "memory");
  return value;
}

static inline void gate() {
  fflush(stdout);
  const char* reached = getenv("RETURN_GATE");
  if (!reached) return;
  FILE* file = fopen(reached, "a");
  if (!file) abort();
  fputc('.', file);
  fclose(file);
  getchar();
}
