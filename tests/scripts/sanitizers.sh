#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that are built with a sanitizer run under record as alone, or are refused in a sentence;
# and a program that ends, or runs another one, before the agent is there.
#   sanitizers.sh BUILD_DIR
. "$(dirname "$0")/common.bash"

cat >"$work/sanitized.cc" <<'EOF'
#include <cstdio>
#include <cstdlib>
extern "C" __attribute__((noinline)) int traced(int n) { asm volatile("" : "+r"(n)); return n + 1; }
int main() {
  int sum = 0;
  for (int i = 0; i < 100; i++) sum += traced(i);
  char* text = new char[sum];
  text[0] = 'x';
  const char* preload = getenv("LD_PRELOAD");
  printf("sanitized: %d %c %s %s\n", sum, text[0], preload ? preload : "-",
         getenv("PATCHBAY_PRELOADED") ? "WRONG" : "-");
  delete[] text;
  return 4;
}
EOF
echo 'int main(void) { return 0; }' >"$work/empty.cc"

# built NAME COMPILER FLAG… : $work/NAME, or false when there is no such compiler or runtime here.
built() {
  local name=$1
  shift
  if ! { "$@" "$work/empty.cc" -o "$work/$name" && "$work/$name"; } >/dev/null 2>&1; then
    echo "SKIPPED: $name: $*: not to be had here"
    return 1
  fi
  "$@" -O1 -g "$work/sanitized.cc" -o "$work/$name"
}

recorded() {
  local name=$1 output status
  output=$(timeout -k 5 60 "$patchbay" record -o "$work/$name.dat" -e 'traced(int n)' -- \
    "$work/$name" 2>"$work/err")
  status=$?
  same "$name: output and status" "$("$work/$name" 2>&1) 4" "$output $status"
  same "$name: events" 100 "$(summary_events "$work/err")"
  same "$name: nothing but the summary is said" "" "$(grep -v '^\[ patchbay' "$work/err")"
}

runtime=$(clang++ -print-file-name=libclang_rt.asan-x86_64.so 2>/dev/null)
while read -r name command; do
  # shellcheck disable=SC2086  # the words of a command
  built "$name" $command && recorded "$name"
done <<EOF
asan_gcc g++ -fsanitize=address
asan_gcc_static g++ -fsanitize=address -static-libasan
asan_clang clang++ -fsanitize=address
asan_clang_shared clang++ -fsanitize=address -shared-libasan -Wl,-rpath,$(dirname "$runtime")
tsan_gcc g++ -fsanitize=thread
lsan_gcc g++ -fsanitize=leak
ubsan_gcc g++ -fsanitize=undefined
EOF

# What the agent has is no leak of the program's. Of libc's functions only: the thread that
# LeakSanitizer makes at the end shares thread-local data with another one (clone() without
# CLONE_SETTLS), and calls functions of the sanitizer: 3 of 120 runs of all functions end by SIGILL.
for name in asan_gcc asan_clang lsan_gcc; do
  [[ -x $work/$name ]] || continue
  said=$(timeout -k 5 60 "$patchbay" record -q -o "$work/$name.dat" -t function_graph \
    -l ':mod:libc.so*' -- "$work/$name" 2>&1)
  same "$name, functions of libc: status" 4 $?
  same "$name, functions of libc: output" "$("$work/$name" 2>&1)" "$said"
done

# Another library that is preloaded stays in the environment; AddressSanitizer's does not.
if [[ -x $work/asan_gcc ]]; then
  has "a library of the user's stays" "$(LD_PRELOAD=libm.so.6 "$patchbay" record -q \
    -o "$work/t.dat" -e 'traced(int n)' -- "$work/asan_gcc" 2>&1)" '^sanitized: 5050 x libm.so.6 -$'
fi

# The user's own AddressSanitizer comes first: for the program, and for one that it executes.
library=$(gcc -print-file-name=libasan.so)
if [[ -e $library ]]; then
  cmd=(sh -c 'echo "preloaded $LD_PRELOAD"; /bin/echo child')
  export ASAN_OPTIONS=detect_leaks=0
  same "a preloaded AddressSanitizer" "$(LD_PRELOAD=$library "${cmd[@]}")" \
    "$(LD_PRELOAD=$library timeout -k 5 60 "$patchbay" record -q -o "$work/t.dat" \
      -e 'getenv(string name)' -- "${cmd[@]}" 2>&1)"
  unset ASAN_OPTIONS
fi

if built msan_clang clang++ -fsanitize=memory; then
  said=$(timeout 30 "$patchbay" record -o "$work/t.dat" -e 'traced(int n)' -- \
    "$work/msan_clang" 2>&1)
  same "MemorySanitizer: exit status" 1 $?
  has "MemorySanitizer: refused" "$said" 'msan_clang is built with -fsanitize=memory: '
fi

# A library whose constructor, which comes before the agent's, ends the program or runs another one.
cat >"$work/early.c" <<'EOF'
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor(101))) static void early(void) {
  if (getenv("EARLY_EXIT")) _exit(9);
  if (system("true") != 0) _exit(8);
}
EOF
cat >"$work/main.c" <<'EOF'
#include <stdio.h>
extern int early_symbol;
__attribute__((noinline)) int traced(int n) {
  __asm__ volatile("" : "+r"(n));
  return n + early_symbol;
}
int main(void) { printf("main: %d\n", traced(1)); return 0; }
EOF
echo 'int early_symbol = 1;' >>"$work/early.c"
gcc -shared -fPIC "$work/early.c" -o "$work/libearly.so" &&
  gcc -O1 "$work/main.c" -o "$work/early" -L"$work" -learly -Wl,-rpath,"$work"
before=$(ls "$PATCHBAY_DIR")
said=$(EARLY_EXIT=1 timeout 20 "$patchbay" record -o "$work/t.dat" -e 'traced(int n)' -- \
  "$work/early" 2>&1)
same "a program that ends early: exit status" 1 $?
has "a program that ends early: its status" "$said" 'exited with status 9 before the agent'
same "a program that runs another one early" "main: 2 0" \
  "$(timeout 20 "$patchbay" record -q -o "$work/t.dat" -e 'traced(int n)' -- "$work/early" 2>&1) $?"
same "no folder is left" "$before" "$(ls "$PATCHBAY_DIR")"
finish
