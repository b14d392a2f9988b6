// SPDX-License-Identifier: MIT
// For entry_parameters_test: a class with a virtual base has two constructors, and only one of them
// is told where the bases' tables are.
struct base {
  int x;
};
struct with_base : virtual base {
  __attribute__((noinline)) with_base(int i, const char* name);
  int y;
};
with_base::with_base(int i, const char* name) : y(i + name[0]) {}

// One constructor is called, and a clone of the other one.
volatile int sink;
namespace {
struct part : virtual base {
  __attribute__((noinline)) explicit part(int size);
};
part::part(int size) { sink = size; }
struct whole : part {
  explicit whole(int size) : part(size) {}
};
}  // namespace
void make(int size) {
  part one(size), other(size + 1);
  whole third(size + 2);
}
