// SPDX-License-Identifier: MIT
// Results of every class come back as they left: two registers, vectors, x87, memory, flags.
// probe: ret_pair ret_wide ret_double ret_complex ret_long_double ret_struct ret_vector ret_carry
#include <complex.h>
#include <immintrin.h>
#include <stdio.h>
#include <string.h>

#include <initializer_list>

#include "return_program.h"

struct Pair {
  long a, b;
};
struct Large {
  char text[96];
};

extern "C" {
KEEP Pair ret_pair(long n) { return {n * 3, n * 5}; }
KEEP __int128 ret_wide(long n) { return (__int128)n << 70 | n; }
KEEP double ret_double(long n) { return 1.0 / (double)(n + 1); }
KEEP _Complex double ret_complex(long n) {
  _Complex double value;
  double parts[2] = {(double)n, -(double)n / 3};
  memcpy(&value, parts, sizeof value);
  return value;
}
KEEP long double ret_long_double(long n) { return 1.0L / (long double)(n + 7); }
KEEP Large ret_struct(long n) {
  Large large;
  snprintf(large.text, sizeof large.text, "number %ld", n);
  return large;
}
KEEP __attribute__((target("avx"))) __m256d ret_vector(double n) {
  return _mm256_set_pd(n, n * 2, n * 3, n * 4);
}
// Says "no" by the carry flag, as hand-written assembly may.
long ret_carry(long n);
}
__asm__(R"(
.text
.p2align 4
.globl ret_carry
.type ret_carry, @function
ret_carry:
  mov %rdi, %rax
  bt $0, %rdi
  ret
.size ret_carry, . - ret_carry
)");

static __attribute__((target("avx"), noinline)) double sum_of_vectors() {
  double sum = 0, lanes[4];
  for (int i = 0; i < 50; i++) {
    _mm256_storeu_pd(lanes, ret_vector(i));
    sum += lanes[0] - lanes[1] + 7 * lanes[2] + lanes[3];
  }
  return sum;
}

int main() {
  gate();
  long pairs = 0, odd = 0, length = 0;
  __int128 wide = 0;
  double real = 0;
  long double precise = 0;
  for (long i = 0; i < 50; i++) {
    Pair pair = ret_pair(i);
    pairs += pair.a * 7 + pair.b;
    wide += ret_wide(i);
    real += ret_double(i);
    _Complex double number = ret_complex(i);
    double parts[2];
    memcpy(parts, &number, sizeof parts);
    real += parts[0] * 2 + parts[1];
    precise += ret_long_double(i);
    length += (long)strlen(ret_struct(i).text);
    unsigned char carry;
    long same = i;
    __asm__ volatile("call ret_carry\nsetc %0" : "=r"(carry), "+D"(same) : : "rax", "cc", "memory");
    odd += carry;
  }
  printf("pairs %ld wide %lx:%lx odd %ld length %ld\n", pairs, (long)(wide >> 64), (long)wide, odd,
         length);
  printf("real %.17g precise %.21Lg\n", real, precise);
  for (const char* name : {"pair", "wide", "double", "complex", "long_double", "struct", "carry"})
    printf("calls ret_%s 50\n", name);
  if (__builtin_cpu_supports("avx")) printf("vectors %.17g\n", sum_of_vectors());
  gate();
}
