// SPDX-License-Identifier: MIT
// Calls of C, and below each the line that `patchbay calls` has to show for it (call_table.sh).
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
// No copy of a function for one caller, and no argument that is not given.
#ifdef __clang__
#define CALL __attribute__((noinline, used))
#else
#define CALL __attribute__((noipa, used))
#endif
#define KEEP(x) __asm__ volatile("" : : "r"(&(x)) : "memory")

enum color { RED, GREEN = 7 };
enum access { READ = 1, WRITE = 2, RUN = 4 };
typedef enum { NORTH = -1, SOUTH = 1 } direction;
struct small { char c; short s; };
struct point { int x; double y; };
struct pair { long a, b; };
struct vec { float x, y; };
struct vec3 { float x, y, z; };
struct wide { long a; int b; double c; };
struct named { const char *name; int n; };
struct item { struct vec at; int tags[2]; };
struct real { long double x; };
struct huge_number { __int128 n; };
struct label { char name[8]; unsigned short n; };
struct mode { enum color color; bool on; signed char level; };
struct hook { void (*call)(int); const struct point *at; };
struct bits { unsigned low : 3, high : 5; };
struct __attribute__((packed)) packed { char c; int n; };
union number { int i; float f; };
struct large { long words[40]; };

CALL bool c_bool(bool b) { KEEP(b); return !b; }
CALL char c_char(char c) { KEEP(c); return c + 1; }
CALL signed char c_schar(signed char c) { KEEP(c); return -c; }
CALL unsigned char c_uchar(unsigned char c) { KEEP(c); return c + 1; }
CALL short c_short(short n) { KEEP(n); return -n; }
CALL unsigned short c_ushort(unsigned short n) { KEEP(n); return n; }
CALL int c_int(int n) { KEEP(n); return -n; }
CALL unsigned c_unsigned(unsigned n) { KEEP(n); return n; }
CALL long c_long(long n) { KEEP(n); return -n; }
CALL unsigned long c_ulong(unsigned long n) { KEEP(n); return n; }
CALL long long c_llong(long long n) { KEEP(n); return n - 1; }
CALL float c_float(float x) { KEEP(x); return x * 2; }
CALL double c_double(double x, float y) { KEEP(x); KEEP(y); return x * y; }
CALL int c_long_double(long double x, int n) { KEEP(x); KEEP(n); return n; }
CALL int c_wide(__int128 n, unsigned __int128 u) { KEEP(n); KEEP(u); return 0; }
CALL int c_wide_on_stack(int a, int b, int c, int d, int e, int f, int g, __int128 n) {
  KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f); KEEP(g); KEEP(n);
  return g;
}
CALL enum color c_enum(enum color c) { KEEP(c); return GREEN; }
CALL enum access c_flags(enum access a, direction d) { KEEP(a); KEEP(d); return READ | WRITE; }
CALL const char *c_text(const char *s, int n) { KEEP(s); KEEP(n); return n ? s : NULL; }
CALL char *c_buffer(char *s) { KEEP(s); return s; }
CALL void *c_pointer(void *p, const int *v) { KEEP(p); KEEP(v); return p; }
CALL int c_struct_pointer(struct point *p, const struct pair *q) { KEEP(p); KEEP(q); return 0; }
CALL void c_function(void (*f)(int)) { KEEP(f); }
CALL int c_array(int v[3]) { KEEP(v); return v[0]; }
CALL long c_stack(int a, long b, int c, long d, int e, long f, short g, const char *h, long i) {
  KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f); KEEP(g); KEEP(h); KEEP(i);
  return i;
}
CALL double c_doubles(double a, double b, double c, double d, double e, double f, double g,
                      double h, double i, float j) {
  KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f); KEEP(g); KEEP(h); KEEP(i); KEEP(j);
  return i;
}
CALL int c_mixed(int a, double b, char c, float d, struct pair p, long double e, bool f) {
  KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(p); KEEP(e); KEEP(f);
  return a;
}
CALL void c_nothing(void) { __asm__ volatile(""); }
CALL void c_small(struct small s) { KEEP(s); }
CALL void c_point(struct point p, int n) { KEEP(p); KEEP(n); }
CALL void c_pair(struct pair p) { KEEP(p); }
CALL void c_vec(struct vec v, float f) { KEEP(v); KEEP(f); }
CALL void c_vec3(struct vec3 v, struct vec3 w) { KEEP(v); KEEP(w); }
CALL void c_memory(struct wide w, int n) { KEEP(w); KEEP(n); }
CALL void c_named(struct named n) { KEEP(n); }
CALL void c_item(struct item i) { KEEP(i); }
CALL void c_real(struct real r, int n) { KEEP(r); KEEP(n); }
CALL void c_huge_number(struct huge_number h) { KEEP(h); }
CALL void c_label(struct label l) { KEEP(l); }
CALL void c_mode(struct mode m) { KEEP(m); }
CALL void c_hook(struct hook h) { KEEP(h); }
CALL void c_no_room(int a, int b, int c, int d, int e, struct pair p, int f) {
  KEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(p); KEEP(f);
}
CALL void c_bits(struct bits b, int n) { KEEP(b); KEEP(n); }
CALL void c_packed(int n, union number u) { KEEP(n); KEEP(u); }
CALL int c_sum(int n, ...) { KEEP(n); return n; }
CALL struct pair c_returns_pair(int n) { KEEP(n); return (struct pair){n, -n}; }
CALL struct wide c_returns_wide(int n, int m) {
  KEEP(n); KEEP(m);
  return (struct wide){n, m, n / 2.0};
}
CALL struct vec c_returns_vec(float x) { KEEP(x); return (struct vec){x, x + 1}; }
CALL struct point c_returns_point(int n) { KEEP(n); return (struct point){n, n / 2.0}; }
CALL __int128 c_returns_wide_number(long n) { KEEP(n); return (__int128)n << 64; }
CALL long double c_returns_real(int n) { KEEP(n); return n / 2.0L; }
void on_event(int n) { KEEP(n); }

static void numbers(void) {
  c_bool(true); puts("c_bool(true) = false");
  c_bool(false); puts("c_bool(false) = true");
  c_char('a'); puts("c_char('a') = 'b'");
  c_char('\n'); puts("c_char('\\n') = '\\x0b'");
  c_schar(-128); puts("c_schar(-128) = -128");
  c_uchar(255); puts("c_uchar(255) = 0");
  c_short(-32767); puts("c_short(-32767) = 32767");
  c_ushort(65535); puts("c_ushort(65535) = 65535");
  c_int(-5); puts("c_int(-5) = 5");
  c_unsigned(4000000000u); puts("c_unsigned(4000000000) = 4000000000");
  c_long(1l << 62); printf("c_long(%ld) = %ld\n", 1l << 62, -(1l << 62));
  c_ulong(-1ul); printf("c_ulong(%lu) = %lu\n", -1ul, -1ul);
  c_llong(0); puts("c_llong(0) = -1");
  c_float(1.25f); puts("c_float(1.25) = 2.5");
  c_double(-0.5, 3); puts("c_double(-0.5, 3) = -1.5");
  c_long_double(2.5L, 7); puts("c_long_double(2.5, 7) = 7");
  c_long_double(1 / 3.0L, 8); puts("c_long_double(~0.3333333333333333, 8) = 8");
  c_wide(-5, (unsigned __int128)1 << 100);
  puts("c_wide(-5, 1267650600228229401496703205376) = 0");
#ifndef __clang__
  c_wide_on_stack(1, 2, 3, 4, 5, 6, 7, -8);
  puts("c_wide_on_stack(1, 2, 3, 4, 5, 6, 7, -8) = 7");
#else
  c_wide_on_stack(1, 2, 3, 4, 5, 6, 7, -8);
  puts("c_wide_on_stack(1, 2, 3, 4, 5, 6, 7, ?) = 7");  // clang 14 breaks the convention: a note
#endif
}

static void words(void) {
  int numbers[3] = {7, 8, 9};
  char buffer[8] = "abc";
  struct pair pair = {-1, 1l << 40};
  c_enum(RED); puts("c_enum(RED) = GREEN");
  c_enum((enum color)3); puts("c_enum(3) = GREEN");
  c_flags(READ | RUN, NORTH); puts("c_flags(READ|RUN, NORTH) = READ|WRITE");
  c_flags(0, SOUTH); puts("c_flags(0, SOUTH) = READ|WRITE");
  c_text("a \"text\"\n", 1); puts("c_text(\"a \\\"text\\\"\\n\", 1) = \"a \\\"text\\\"\\n\"");
  c_text("", 1); puts("c_text(\"\", 1) = \"\"");
  c_text(NULL, 0); puts("c_text(NULL, 0) = NULL");
  c_text((const char *)16, 0); puts("c_text(0x10, 0) = NULL");
  c_buffer(buffer); printf("c_buffer(%p) = \"abc\"\n", (void *)buffer);
  c_pointer(buffer, NULL); printf("c_pointer(%p, NULL) = %p\n", (void *)buffer, (void *)buffer);
  c_struct_pointer(NULL, &pair); printf("c_struct_pointer(NULL, %p) = 0\n", (void *)&pair);
  c_function(on_event); puts("c_function(on_event)");
  c_function(NULL); puts("c_function(NULL)");
  c_array(numbers); printf("c_array(%p) = 7\n", (void *)numbers);
}

static void structures(void) {
  const struct point at = {3, 0.5};
  struct pair pair = {-1, 1l << 40};
  c_stack(1, -2, 3, -4, 5, -6, -7, "eight", 9);
  puts("c_stack(1, -2, 3, -4, 5, -6, -7, \"eight\", 9) = 9");
  c_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9.5, -10);
  puts("c_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9.5, -10) = 9.5");
  c_mixed(1, 2.5, 'x', -0.25f, pair, 4, true);
  puts("c_mixed(1, 2.5, 'x', -0.25, {a=-1, b=1099511627776}, 4, true) = 1");
  c_nothing(); puts("c_nothing()");
  c_small((struct small){'s', -9}); puts("c_small({c='s', s=-9})");
  c_point(at, 4); puts("c_point({x=3, y=0.5}, 4)");
  c_pair(pair); puts("c_pair({a=-1, b=1099511627776})");
  c_vec((struct vec){1.5f, -2}, 8); puts("c_vec({x=1.5, y=-2}, 8)");
  c_vec3((struct vec3){1, 2, 3}, (struct vec3){4, 5, 6});
  puts("c_vec3({x=1, y=2, z=3}, {x=4, y=5, z=6})");
  c_memory((struct wide){-1, 2, 0.5}, 6); puts("c_memory({a=-1, b=2, c=0.5}, 6)");
  c_named((struct named){"who", 3}); puts("c_named({name=\"who\", n=3})");
  c_named((struct named){NULL, 3}); puts("c_named({name=NULL, n=3})");
  c_named((struct named){"", 3}); puts("c_named({name=\"\", n=3})");
  c_named((struct named){(const char *)16, 3}); puts("c_named({name=0x10, n=3})");
  c_item((struct item){{1, 2}, {3, -4}}); puts("c_item({at={x=1, y=2}, tags=[3, -4]})");
  c_real((struct real){0.25L}, 5); puts("c_real({x=0.25}, 5)");
  c_huge_number((struct huge_number){-1}); puts("c_huge_number({n=-1})");
  c_label((struct label){"top", 9}); puts("c_label({name=\"top\", n=9})");
  c_mode((struct mode){GREEN, true, -3}); puts("c_mode({color=GREEN, on=true, level=-3})");
  c_hook((struct hook){on_event, NULL}); puts("c_hook({call=on_event, at=NULL})");
  c_no_room(1, 2, 3, 4, 5, pair, 6);
  puts("c_no_room(1, 2, 3, 4, 5, {a=-1, b=1099511627776}, 6)");
  // What no person's spelling is known for has a mark, and what is behind it is right.
  c_bits((struct bits){1, 2}, 7); puts("c_bits({…}, 7)");
  c_packed(7, (union number){1}); puts("c_packed(7, {…})");
  // What is passed behind the last parameter is not followed.
  c_sum(2, 5, 6); puts("c_sum(2) = 2");
}

static void results(void) {
  c_returns_pair(5); puts("c_returns_pair(5) = {a=5, b=-5}");
  c_returns_wide(5, 6); puts("c_returns_wide(5, 6) = {a=5, b=6, c=2.5}");
  c_returns_vec(1); puts("c_returns_vec(1) = {x=1, y=2}");
  c_returns_point(3); puts("c_returns_point(3) = {x=3, y=1.5}");
  c_returns_wide_number(-1); puts("c_returns_wide_number(-1) = -18446744073709551616");
  c_returns_real(5); puts("c_returns_real(5) = 2.5");
}

int main(void) {
  numbers();
  words();
  structures();
  results();
  return 0;
}
