#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Processors with shadow stacks compare each return with its call. Here a program does it, step by
# step (shadow_stack.c): entries, whole calls, returns and the graph keep calls and returns in
# pairs. A call that is moved into a stub does not, which is why none is moved where the kernel has
# shadow stacks on (the unit tests of src/patch).
. "$(dirname "$0")/common.bash"
need gcc
cat >"$work/target.c" <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long leaf(long n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
__attribute__((noinline)) long nest(long n) { return n ? nest(n - 1) + leaf(n) : leaf(7); }
__attribute__((noinline)) long tail(long n) { return leaf(n + 1); }
long moved(long n);  // begins with a call
__asm__(".text\n.p2align 4\n.globl moved\n.type moved, @function\nmoved: call leaf\n ret\n"
        ".size moved, . - moved\n");
int main(int argc, char** argv) {
  long sum = 0, n;
  char byte;
  FILE* file = fopen(argv[1], "w");
  fprintf(file, "%d\n", getpid());
  fclose(file);
  if (read(0, &byte, 1) != 1) return 1;
  for (n = 0; n < 20; n++) sum += leaf(n) + nest(n % 5) + tail(n) + moved(n);
  getppid();
  return sum == 0;
}
SOURCE
gcc -O1 -foptimize-sibling-calls -o "$work/target" "$work/target.c" -w &&
  gcc -O2 -Wall -Wextra -Werror -o "$work/step" "$here/shadow_stack.c" ||
  { fail "they do not build"; finish; }
mkfifo "$work/fifo"

# stepped ARGUMENT… : what the shadow stack says of the program below patchbay.
stepped() {
  local tool
  rm -f "$work/pid"
  timeout 60 "$patchbay" "$@" -- "$work/target" "$work/pid" 0<>"$work/fifo" >"$work/out" 2>&1 &
  tool=$!
  started $tool
  wait_for 20 test -s "$work/pid"
  timeout 60 "$work/step" "$(<"$work/pid")" "$work/fifo" 2>"$work/steps"
  check "enough was stepped through: $*: $(<"$work/steps")" test $? = 0
  wait $tool
  same "the program ends well: $*" 0 $?
}

record=(record -q -o "$work/t.dat")
clean="differences: 0"
same "entries" "$clean" \
  "$(stepped "${record[@]}" -e 'leaf(long n)' -e 'nest(long n)' -e 'tail(long n)')"
same "entries with stacks" "$clean" "$(stepped "${record[@]}" -e 'leaf(long n)' -O stacktrace)"
same "returns" "$clean" \
  "$(stepped "${record[@]}" -e 'r:a leaf' -e 'r:b nest' -e 'r:c tail' -e 'r:d main')"
same "the graph" "$clean" \
  "$(stepped "${record[@]}" -t function_graph -l leaf -l nest -l tail -l main)"
same "the tracer function" "$clean" "$(stepped "${record[@]}" -t function -l leaf -l nest)"
same "whole calls" "$clean" "$(stepped calls -o "$work/calls" -e leaf -e nest -e tail)"
has "a call that is moved is not in a pair" "$(stepped "${record[@]}" -e 'moved(long n)')" \
  '^differences: [1-9]'
finish
