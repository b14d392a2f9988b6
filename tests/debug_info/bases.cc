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
