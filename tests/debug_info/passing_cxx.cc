// SPDX-License-Identifier: MIT
// For calling_convention_test and functions_test: what only C++ has.
struct Owner {
  ~Owner();
  int n;
};
struct Empty {};
struct Base {
  long first;
};
struct Derived : Base {
  double second;
};

volatile long sink;
Owner::~Owner() { sink = sink + 1; }

namespace shop {
__attribute__((noinline)) void by_copy(Owner owner, int& b, Empty, int c) {
  sink = owner.n + b + c;
}
__attribute__((noinline)) void derived(Derived d, Base b) { sink = d.first + b.first; }
struct Order {
  int base;
  __attribute__((noinline)) int add(int n);
  __attribute__((noinline)) int add(double n);
};
int Order::add(int n) { return base + n + int(sink); }
int Order::add(double n) { return base + int(n) + int(sink); }
template <typename T>
__attribute__((noinline)) T largest(T a, T b) {
  sink = sink + 1;
  return a < b ? b : a;
}
template int largest<int>(int, int);
}  // namespace shop

namespace store {
__attribute__((noinline)) int add(int n) { return n + int(sink); }
}  // namespace store
