// SPDX-License-Identifier: MIT
// Calls a function with texts that look like the tables that count them.
//   hostile_keys [RANDOM [SEED]]
// Text number i is passed i + 1 times; then RANDOM texts of random bytes, once each. Prints "HEX
// CALLS" for each, and waits for a line on its standard input before and after where that is no
// terminal and no end: "go" has come.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile long sum;

__attribute__((noinline)) void take(const char* text, unsigned long size) {
  sum += (long)size + (size ? text[0] : 0);
}

struct Text {
  const char* bytes;
  size_t size;
};
#define TEXT(literal) \
  { literal, sizeof literal - 1 }

static char long_text[300];
static const struct Text kTexts[] = {
    TEXT("plain"),
    TEXT("x } hitcount:        777\n{ s: evil"),
    TEXT("s: a, n: 3 } hitcount:          9  lat.counters: sum=9,3=1"),
    TEXT("}\n\nTotals:\n    Hits: 5\n    Entries: 1\n    Dropped: 3\n"),
    TEXT("\n# trigger info: hist:keys=n:vals=hitcount [active]\n"),
    TEXT("\"}, {\"keys\": {\"s\": \"json\"}, \"values\": {\"hitcount\": 42}}"),
    TEXT("evil\"} 777\npatchbay_evil_total 777"),
    TEXT("a\0b"),
    TEXT("\0\0"),
    TEXT(""),
    TEXT(" "),
    TEXT("trailing   "),
    TEXT("back\\slash \\x00"),
    TEXT("\x1b[31m\r\t"),
    TEXT("\xff\xfe no UTF-8"),
    TEXT("[7f00] main+0x0/0x10"),
    {long_text, sizeof long_text},
};
static const char* const kWords[] = {"} hitcount:", "{ s: ", "\n", "\"", "\\", "Totals:", ", "};

static uint64_t state;
static uint64_t next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

static void say(struct Text text, unsigned long calls) {
  for (size_t i = 0; i < text.size; i++) printf("%02x", (unsigned char)text.bytes[i]);
  printf(" %lu\n", calls);
  for (unsigned long i = 0; i < calls; i++) take(text.bytes, text.size);
}

static struct Text random_text(char* room) {
  struct Text text = {room, 0};
  for (uint64_t parts = next() % 8; parts > 0; parts--) {
    const char* const word = kWords[next() % (sizeof kWords / sizeof *kWords)];
    if (next() % 4 == 0) {
      memcpy(room + text.size, word, strlen(word));
      text.size += strlen(word);
    } else {
      room[text.size++] = (char)next();
    }
  }
  return text;
}

int main(int argc, char** argv) {
  char line[8], room[256];
  if (!fgets(line, sizeof line, stdin)) line[0] = 0;
  memset(long_text, 'y', sizeof long_text);
  for (size_t i = 0; i < sizeof kTexts / sizeof *kTexts; i++) say(kTexts[i], i + 1);
  state = argc > 2 ? strtoul(argv[2], 0, 10) : 1;
  for (long left = argc > 1 ? atol(argv[1]) : 0; left > 0; left--) say(random_text(room), 1);
  printf("done\n");
  fflush(stdout);
  if (line[0]) (void)!fgets(line, sizeof line, stdin);
  return 0;
}
