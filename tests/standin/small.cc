// SPDX-License-Identifier: MIT
//
// 256 functions for who wants many: standin_small_00 to standin_small_ff, each with an instruction
// that begins at +5.
#include "kernel.h"

// 0f 1f 44 00 00 is a nop of five bytes.
#define SMALL(n)                                                             \
  extern "C" STANDIN_FUNCTION unsigned long standin_small_##n(unsigned long x); \
  __asm__(".pushsection .text\n\t.balign 16\n\t.globl standin_small_" #n     \
          "\n\t.type standin_small_" #n ", @function\nstandin_small_" #n     \
          ":\n\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"                      \
          "lea 0x" #n "(%rdi), %rax\n\tnop\n\tret\n\t"                       \
          ".size standin_small_" #n ", . - standin_small_" #n "\n\t.popsection");
#define CALL(n) value = standin_small_##n(value);
#define SIXTEEN(m, h) \
  m(h##0) m(h##1) m(h##2) m(h##3) m(h##4) m(h##5) m(h##6) m(h##7) m(h##8) m(h##9) m(h##a) m(h##b) \
  m(h##c) m(h##d) m(h##e) m(h##f)
#define ALL(m) \
  SIXTEEN(m, 0) SIXTEEN(m, 1) SIXTEEN(m, 2) SIXTEEN(m, 3) SIXTEEN(m, 4) SIXTEEN(m, 5) \
  SIXTEEN(m, 6) SIXTEEN(m, 7) SIXTEEN(m, 8) SIXTEEN(m, 9) SIXTEEN(m, a) SIXTEEN(m, b) \
  SIXTEEN(m, c) SIXTEEN(m, d) SIXTEEN(m, e) SIXTEEN(m, f)

ALL(SMALL)

extern "C" unsigned long call_small_functions(unsigned long value) {
  ALL(CALL)
  return value;
}
