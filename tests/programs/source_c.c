// SPDX-License-Identifier: MIT
// For tests/scripts/probe_source.sh: each traced line has a marker, and the program prints itself
// what a probe there must see, so that the recorded values can be compared.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

enum colour { RED, GREEN, BLUE = 7 };
typedef unsigned long count_t;

struct point {
  short x, y;
};
struct flags {
  unsigned low : 3, middle : 7;
  int high : 12;
};
struct item {
  struct item* next;
  const char* name;
  char label[12];
  struct point corner[3];
  struct flags flags;
  enum colour colour;
  union {
    int number;
    float real;
  };
  unsigned char tiny;
  _Bool is_set;
};

int shared_counter = 5;
static struct item static_item = {.name = "static", .label = "fixed"};
const char* volatile sink_text;
volatile long sink;

KEEP long scalars(char c, short s, int i, long l, unsigned char uc, count_t ul, int seventh) {
  long sum = c + s + i + l + uc + (long)ul + seventh;
  sink = sum;  // line: scalars
  return sum;
}

KEEP int members(struct item* item, int depth) {
  int result = item->corner[1].y + depth;
  shared_counter += depth;
  sink = result;  // line: members
  sink_text = item->next->name;
  return result;
}

KEEP double reals(double d, float f, struct point by_value) {
  double product = d * f + by_value.x;
  sink = (long)product;  // line: reals
  return product;
}

static inline __attribute__((always_inline)) long twice(long value) {
  long doubled = 2 * value;
  sink = doubled;  // line: twice
  return doubled;
}

KEEP long caller_one(long n) {
  long r = twice(n + 1);
  sink = r;
  return r;
}

KEEP long caller_two(long n) {
  long r = twice(n * 10) + 3;
  sink = r;
  return r;
}

KEEP char* make_text(const char* text, int times) {
  char buffer[32] = "";
  for (int i = 0; i < times; i++) {
    size_t length = strlen(buffer);
    snprintf(buffer + length, sizeof buffer - length, "%s", text);
    sink = i;  // line: loop
  }
  return strdup(buffer);
}

int main(void) {
  struct item second = {.name = "second", .label = "two"};
  struct item first = {&second, "first",       "one", {{1, 2}, {3, -4}, {5, 6}}, {5, 99, -7},
                       BLUE,    {.number = 77}, 200,   1};
  static_item.next = &first;
  for (int round = 0; round < 3; round++) {
    first.corner[1].y = (short)(-4 - round);
    printf("scalars c=%c s=%d i=%d l=%d uc=%d ul=%d seventh=%d\n", 'a' + round, -300 - round,
           -70000 * round, 1234567 + round, 250 + round, 99, 7 + round);
    fflush(stdout);
    scalars((char)('a' + round), (short)(-300 - round), -70000 * round, 1234567 + round,
            (unsigned char)(250 + round), 99, 7 + round);
    printf("members depth=%d name=%s next=%s label=%s y=%d colour=%d\n", round, first.name,
           first.next->name, first.label, first.corner[1].y, first.colour);
    members(&first, round);
    reals(1.5, 2.0f, first.corner[2]);
    printf("twice doubled=%d\ntwice doubled=%d\n", 2 * (round + 1), 2 * round * 10);
    caller_one(round);
    caller_two(round);
    free(make_text("ab", round + 1));
  }
  return 0;
}
