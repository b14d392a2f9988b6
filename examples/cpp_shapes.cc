// SPDX-License-Identifier: MIT
//
// Names and calls of C++: a namespace, an anonymous one, overloads, a method of a class template,
// and an exception that passes a traced caller.
//
//   patchbay record -e 'shapes::area(int a)' -e 'shapes::Stack<int>::push(NULL, int v)'
//       -e 'shapes::guarded(int n)' -e 'shapes::thrower(int n)' -- ./cpp_shapes
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define TRACED [[gnu::noinline, gnu::used]]

namespace shapes {

TRACED int area(int side) {
  asm volatile("" : "+r"(side));
  return side * side;
}
TRACED int area(int width, int height) {
  asm volatile("" : "+r"(width));
  return width * height;
}
TRACED double area(double radius) {
  asm volatile("" : "+x"(radius));
  return 3.0 * radius * radius;
}

template <typename T>
class Stack {
 public:
  TRACED void push(T value) { values_.push_back(value); }
  TRACED size_t depth() const { return values_.size(); }

 private:
  std::vector<T> values_;
};
template class Stack<int>;
template class Stack<std::string>;

TRACED int thrower(int n) {
  if (n % 2 == 0) throw std::runtime_error("even");
  return n;
}
// The exception passes through here: a traced caller that does not catch.
TRACED int guarded(int n) {
  std::string owned = "destroyed while unwinding " + std::to_string(n);
  int result = thrower(n);
  return result + static_cast<int>(owned.size());
}

namespace {
TRACED int hidden(int n) {
  asm volatile("" : "+r"(n));
  return n + 1;
}
}  // namespace

TRACED int call_hidden(int n) { return hidden(n) + 1; }

}  // namespace shapes

int main() {
  shapes::Stack<int> ints;
  shapes::Stack<std::string> words;
  int sum = 0, caught = 0;
  for (int i = 0; i < 100; ++i) {
    sum += shapes::area(i) + shapes::area(i, 2);
    if (i % 10 == 0) sum += static_cast<int>(shapes::area(1.0 * i));
    ints.push(i);
    if (i % 4 == 0) words.push("w");
    sum += shapes::call_hidden(i);
    try {
      sum += shapes::guarded(i) > 0;
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  std::printf("cpp_shapes: sum %d caught %d ints %zu words %zu\n", sum, caught, ints.depth(),
              words.depth());
  return 0;
}
