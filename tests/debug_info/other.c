// SPDX-License-Identifier: MIT
// For unit_index_test: a second unit beside values.c.
int only_in_other;
#line 50 "other.c"
__attribute__((noinline)) int in_other(int n) {
  only_in_other += n;
  return only_in_other;
}
