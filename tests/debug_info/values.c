// SPDX-License-Identifier: MIT
// For derive_test, variable_test, source_lines_test and others: values to be reached by
// expressions. The lines of code have the numbers that #line gives them.
struct point {
  short x, y;
};
enum colour { RED, GREEN, BLUE = 7 };
typedef struct item item_t;
struct item {
  int id;
  const char* name;
  int numbers[4];
  char label[8];
  struct point corner[2][3];
  unsigned low : 3;
  unsigned high : 7;
  int below : 5;
  enum colour colour;
  union {
    int whole;
    float real;
  };
  item_t* next;
  long double huge;
  void (*call)(int);
};

int counter = 3;
static struct item only_here;
struct hidden;

#line 100 "values.c"
__attribute__((noinline)) int reads(struct item* item, int* numbers, char** words, int n) {
  int sum = item->id;
  sum += numbers[n];
  sum += words[0][0];
  only_here.id = sum;
  return sum + counter;
}

#line 200 "values.c"
__attribute__((noinline)) double takes(const char* text, const unsigned char* bytes, double ratio,
                                       enum colour colour, struct hidden* hidden) {
  counter += text[0] + bytes[0];
  if (hidden) counter += (int)colour;
  return ratio * counter;
}

#line 300 "values.c"
static inline __attribute__((always_inline)) int twice(int value) { return 2 * value + counter; }
#line 310 "values.c"
__attribute__((noinline)) int calls(int n) {
  int first = twice(n);
  return first + twice(n + 1);
}
