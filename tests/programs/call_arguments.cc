// SPDX-License-Identifier: MIT
// Functions with one kind of parameter each, called once with known values: what the options
// func-args and funcgraph-args show of them (tests/scripts/func_args.sh).
// event: take_signed(int n, long big)
#include <cstdint>
#include <cstdio>

#define CALLED __attribute__((noinline, noclone))
#define KEEP(...) __asm__ volatile("" ::__VA_ARGS__ : "memory")

enum class Color : short { kRed = 1, kBlue = -2 };
struct Pair {
  long a, b;
};
struct Mixed {
  double d;
  int n;
};
struct Large {
  long words[4];
};
struct Shape {
  int sides;
  CALLED void grow(unsigned by) { KEEP("r"(this), "r"(by)); }
};

extern "C" {
CALLED int take_signed(int n, long big) {
  KEEP("r"(n), "r"(big));
  return n;
}
CALLED void take_unsigned(unsigned n, uint8_t small, size_t big) {
  KEEP("r"(n), "r"(int(small)), "r"(big));
}
CALLED void take_bools(bool yes, bool no, char letter) {
  KEEP("r"(int(yes)), "r"(int(no)), "r"(int(letter)));
}
CALLED void take_pointers(const char* text, void* nothing) { KEEP("r"(text), "r"(nothing)); }
CALLED void take_enum(Color color, Color other) { KEEP("r"(int(color)), "r"(int(other))); }
CALLED void take_floats(int before, double d, float f, int behind) {
  KEEP("r"(before), "x"(d), "x"(f), "r"(behind));
}
CALLED void take_pair(int before, Pair pair, int behind) {
  KEEP("r"(before), "r"(pair.a), "r"(pair.b), "r"(behind));
}
CALLED void take_mixed(Mixed mixed, Large large, int behind) {
  KEEP("x"(mixed.d), "r"(mixed.n), "m"(large), "r"(behind));
}
CALLED void take_many(int a, int b, int c, int d, int e, int f, int g, int h) {
  KEEP("r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "m"(g), "m"(h));
}
CALLED Large take_hidden(int n) {
  KEEP("r"(n));
  return Large{{n, 2, 3, 4}};
}
CALLED void take_nothing() { KEEP("i"(0)); }
}

int main() {
  static Shape shape{3};
  take_signed(-3, -4000000000);
  take_unsigned(4000000000u, 200, 5000000000);
  take_bools(true, false, 'a');
  take_pointers(reinterpret_cast<const char*>(0x1000), nullptr);
  take_enum(Color::kRed, Color::kBlue);
  take_floats(7, 0.5, 0.25f, 8);
  take_pair(1, {2, 3}, 4);
  take_mixed({0.5, 6}, {{1, 2, 3, 4}}, 9);
  take_many(1, 2, 3, 4, 5, 6, 7, 8);
  take_hidden(5);
  take_nothing();
  shape.grow(2);
  std::printf("%p\n", static_cast<void*>(&shape));
}
