// SPDX-License-Identifier: MIT
// Loaded by return_walked.cc: to look at, what OCaml's compiler makes.
long caml_frametable[] = {0};

long caml_calls(long (*function)(const long*, long), long n) {
  long word = 0;
  return function(&word, n) + caml_frametable[0];
}
