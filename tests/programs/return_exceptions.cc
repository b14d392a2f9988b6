// SPDX-License-Identifier: MIT
// Exceptions thrown through hooked functions, caught inside, rethrown, replaced; destructors run.
// probe: ret_throw ret_catch ret_rethrow ret_pass
#include <stdio.h>

#include <stdexcept>
#include <string>

#include "return_program.h"

static long destroyed;
struct Guard {
  ~Guard() { destroyed++; }
};

extern "C" {
static long returned;
KEEP int ret_throw(int n) {
  Guard guard;
  if (n % 3 == 0) throw std::runtime_error("three");
  if (n % 5 == 0) throw n;
  returned++;
  return n;
}
KEEP int ret_pass(int depth, int n) {
  Guard guard;
  return depth ? (int)after_call(ret_pass(depth - 1, n)) + 1 : ret_throw(n);
}
KEEP int ret_catch(int n) {
  try {
    return ret_pass(3, n);
  } catch (const std::runtime_error& error) {
    return (int)std::string(error.what()).size();
  }
}
KEEP int ret_rethrow(int n) {
  try {
    return ret_catch(n);
  } catch (int five) {
    if (five % 2) throw;
    throw std::logic_error("even");
  }
}
}

int main() {
  gate();
  long sum = 0, fives = 0, evens = 0, outer = 0;
  for (int i = 1; i <= 3000; i++) {
    try {
      sum += ret_rethrow(i);
    } catch (int) {
      fives++;
    } catch (const std::logic_error&) {
      evens++;
    }
    try {
      sum += ret_pass(i % 7, i);  // caught by the caller of the hooked function itself
    } catch (...) {
      outer++;
    }
  }
  printf("calls ret_throw %ld\n", returned);
  printf("sum %ld fives %ld evens %ld outer %ld destroyed %ld\n", sum, fives, evens, outer,
         destroyed);
  gate();
}
