// SPDX-License-Identifier: MIT
// What the return_* programs share: functions that stay functions, and the two moments at which
// tests/scripts/returns.sh looks (with RETURN_GATE in the environment each of them waits for a line
// on stdin). The programs write down how often they called what always returns: "calls NAME N".
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
  if (getenv("RETURN_GATE")) getchar();
}
