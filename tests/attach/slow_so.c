// SPDX-License-Identifier: MIT
// A library whose constructor takes the time that its program says, under the dynamic linker's
// lock.
void in_slow_constructor(void);
__attribute__((constructor)) static void construct(void) { in_slow_constructor(); }
int slow_answer(int n);
int slow_answer(int n) { return n + 2; }
