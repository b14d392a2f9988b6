// SPDX-License-Identifier: MIT
// For entry_parameters_test: functions that never read all that they are given, so that callers
// which know them need not store it, and what callers that know nobody store all the same.
struct two {
  long a, b;
};
struct big {
  long a, b, c;
};
struct mixed {
  int a;
  char b;
  long c;
};
struct halves {
  char a;
  int b;
  float c;
  unsigned d;
};
volatile long sink;
#define LOCAL __attribute__((noinline, visibility("hidden")))

LOCAL void half(const two& p) { sink = p.b; }
LOCAL void handed_on(int n, const two& p) {
  sink = n;
  half(p);
}
LOCAL void untouched(const int& n, const int& read) { sink = read; }
LOCAL void big_unread(big b, long last) { sink = last; }
LOCAL void big_read(big b) { sink = b.c; }
LOCAL void word(mixed m, int n) { sink = m.c + n; }
static __attribute__((noinline)) long wide(long double x, __int128 n, long y) {
  sink = long(x) + long(n);
  return y;
}
static __attribute__((noinline)) float known(long n) {
  sink = n;
  return 862.75f;
}
static __attribute__((noinline)) float handed_up(long n) {
  sink = n;
  return float(n) * 2.5f;
}
static __attribute__((noinline)) long known_number(long n) {
  sink = n;
  return 862;
}
static __attribute__((noinline)) long number(long n) {
  sink = n;
  return n + 2;
}
static volatile long own;
static __attribute__((noinline)) const char* unwanted(long n) {
  own = n;
  return "text";
}
// It stores what the register has, as compilers do for bytes that pad a structure.
void stores_anything(long n) {
  unwanted(n);
  __asm__ volatile("mov %%ax, %0" : "=m"(*(short*)&own));
}
// What it returns stands in another register.
int returns_a_number(long n) {
  sink = long(known(n));
  known(n + 1);
  return 0;
}
float returns_a_real(long n) {
  sink = known_number(n) + number(n);
  return handed_up(n + 1);
}

// Others may call it. Here it is known what it does not read.
__attribute__((noinline)) void second_word(halves h, double x) {
  sink = long(h.c);
  sink = long(x);
  sink = h.d;
}

struct flagged {
  unsigned short size;
  bool is_on;
};
__attribute__((noinline)) void on_stack(unsigned char n, long a, long b, long c, long d, long e,
                                        flagged s) {
  sink = n;
  sink = s.size;
  sink = s.is_on;
}

// Nobody here calls it: whoever does stores all.
__attribute__((noinline)) void from_outside(const two& p) { sink = p.a; }

void use(long n) {
  half({n, 2});
  handed_on(int(n), {3, n});
  untouched(int(n), int(n) + 1);
  big_unread({n, n, n}, n);
  big_read({n, n, n});
  word({int(n), 'c', n}, int(n));
  second_word({'c', int(n), float(n), unsigned(n)}, double(n));
  on_stack(1, n, n, n, n, n, {(unsigned short)n, n > 2});
  sink = wide(2.5L, 7, n) + wide(2.5L, 7, n + 1);
}
