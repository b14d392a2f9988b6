// SPDX-License-Identifier: MIT
// A library that storms.c loads and unloads.
int small_answer(int n);
int small_answer(int n) { return n + 1; }
