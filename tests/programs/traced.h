// SPDX-License-Identifier: MIT
// The function that the small nasty programs are traced at. Each program is one source and includes
// this once. A program that wants other events names them in lines `// event: DEFINITION`.
#pragma once

__attribute__((noinline)) int traced(int n);
__attribute__((noinline)) int traced(int n) {
  __asm__ volatile("" : "+r"(n)::"memory");
  return n + 1;
}
