// SPDX-License-Identifier: MIT
// For calling_convention_test and prototypes_test: parameters of every class of the System V
// convention. The test says where each one is.
#define KEEP __attribute__((noinline)) void

struct pair {
  int a, b;
};
struct mixed {
  long a;
  double b;
};
struct three_floats {
  float x, y, z;
};
struct big {
  long a[3];
};
struct bits {
  unsigned low : 3;
  unsigned char rest;
  long wide : 40;
};
struct chars {
  char text[12];
};
struct __attribute__((packed)) packed {
  char a;
  long b;
};
struct long_double {
  long double x;
};
struct aligned {
  _Alignas(16) long a[4];
};
struct complex_and_double {
  float _Complex z;
  double d;
};
union number {
  int i;
  float f;
};
typedef union {
  struct pair* p;
  struct mixed* m;
} either __attribute__((transparent_union));
enum colour { RED, GREEN };
typedef float vector4 __attribute__((vector_size(16)));
typedef float vector2 __attribute__((vector_size(8)));

volatile long sink;

KEEP integers(char a, short b, int c, long d, void* e, unsigned char f, int g, long h) { sink++; }
KEEP floats(int a, double b, float c, long d) { sink++; }
KEEP nine_doubles(double a, double b, double c, double d, double e, double f, double g, double h,
                  double i, int j) {
  sink++;
}
KEEP structs(struct pair p, struct mixed m, struct three_floats v, struct big b, int last) {
  sink++;
}
KEEP no_room(long a, long b, long c, long d, long e, struct chars f, long g) { sink++; }
KEEP small(struct bits a, union number b, enum colour c, _Bool d) { sink++; }
KEEP int128(int a, __int128 b, int c) { sink++; }
KEEP int128_on_stack(long a, long b, long c, long d, long e, long f, long g, __int128 h) { sink++; }
KEEP long_doubles(long double a, int b, struct long_double c, int d) { sink++; }
KEEP aligned_on_stack(long a, long b, long c, long d, long e, long f, long g, struct aligned h,
                      struct long_double i) {
  sink++;
}
KEEP packed_struct(struct packed p, long q) { sink++; }
KEEP complexes(float _Complex a, double _Complex b, double c) { sink++; }
KEEP complex_member(struct complex_and_double a, double b) { sink++; }
KEEP vectors(vector4 a, vector2 b, double c) { sink++; }
KEEP quads(__float128 a, double b) { sink++; }
KEEP transparent(int a, either b, int c) { sink++; }
KEEP nothing(void) { sink++; }
KEEP log_to(int level, const char *format, ...) { sink++; }
KEEP log_path(const char *path, ...) { sink++; }
KEEP log_scanf(const char *format, ...) { sink++; }
KEEP log_list(int level, const char *format, void *list) { sink++; }

__attribute__((noinline)) struct big returns_big(int n) {
  struct big b = {{n, n, n}};
  sink++;
  return b;
}
__attribute__((noinline)) struct pair returns_pair(int n) {
  struct pair p = {n, (int)sink};
  return p;
}
__attribute__((noinline)) struct mixed returns_mixed(int n) {
  struct mixed m = {n, (double)sink};
  return m;
}
__attribute__((noinline)) double returns_double(int n) { return n + (double)sink; }
__attribute__((noinline)) long double returns_long_double(int n) {
  return n + (long double)sink;
}
__attribute__((noinline)) int returns_int(int n) { return n + (int)sink; }
__attribute__((noinline)) const char *returns_text(int n) { return n + sink ? "a" : "b"; }
__attribute__((noinline)) enum colour returns_colour(int n) { return n + sink ? RED : GREEN; }
__attribute__((noinline)) __int128 returns_int128(int n) { return n + sink; }
