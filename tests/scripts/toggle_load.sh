#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Patching under load: four threads call a thousand functions and check each result, while events on
# all of them are switched on and off through the agent's socket. Every result must be right, every
# recorded argument too, and nothing may crash.
#   toggle_load.sh BUILD_DIR [SECONDS]
. "$(dirname "$0")/common.bash"
need gcc
seconds=${1:-5}
functions=1000

# Function k has one of eight prologues and returns a * (k + 1) + k.
generate() {
  local k
  printf '#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n'
  printf 'static volatile int v;\n#define F __attribute__((noinline)) long\n'
  for ((k = 0; k < functions; k++)); do
    case $((k % 8)) in
      0) printf 'F f%d(long a) { return a * %d + %d; }\n' "$k" $((k + 1)) "$k" ;;
      1) printf 'F f%d(long a) { v = 1; return a * %d + %d; }\n' "$k" $((k + 1)) "$k" ;;
      2) printf 'F f%d(long a) { return a < 0 ? v : a * %d + %d; }\n' "$k" $((k + 1)) "$k" ;;
      3) printf 'F f%d(long a) { long s = %d; for (long i = 0; i < %d; ++i) { s += a;' \
        "$k" "$k" $((k % 7 + 1))
        printf ' __asm__ volatile(""); } return s + a * %d; }\n' $((k - k % 7)) ;;
      4) printf 'F f%d(long a) { return f%d(a) + a + 1 + v * 0; }\n' "$k" $((k - 1)) ;;
      5) printf 'F f%d(long a) { char b[200]; b[a & 127] = (char)a;' "$k"
        printf ' __asm__ volatile("" :: "r"(b) : "memory");'
        printf ' return a * %d + %d; }\n' $((k + 1)) "$k" ;;
      6) printf 'F f%d(long a) { return a ? a * %d + %d : %d; }\n' "$k" $((k + 1)) "$k" "$k" ;;
      7) printf 'F __attribute__((patchable_function_entry(8))) f%d(long a)' "$k"
        printf ' { return a * %d + %d; }\n' $((k + 1)) "$k" ;;
    esac
  done
  printf 'typedef long (*Function)(long);\nstatic const Function all[] = {\n'
  for ((k = 0; k < functions; k++)); do printf 'f%d,\n' "$k"; done
  cat <<'CODE'
};
static volatile int stop;
static volatile long wrong, calls;
static void* run(void* argument) {
  long seed = (long)argument, done = 0, bad = 0;
  while (!stop) {
    for (long k = 0; k < (long)(sizeof all / sizeof *all); ++k) {
      long a = seed + done % 1000;
      if (all[k](a) != a * (k + 1) + k) ++bad;
      ++done;
    }
  }
  __atomic_add_fetch(&wrong, bad, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&calls, done, __ATOMIC_SEQ_CST);
  return 0;
}
int main(int argc, char** argv) {
  (void)argc;
  pthread_t thread[4];
  for (long t = 0; t < 4; ++t) pthread_create(&thread[t], 0, run, (void*)(t * 1000));
  struct timespec end = {atoi(argv[1]), 0};
  nanosleep(&end, 0);
  stop = 1;
  for (int t = 0; t < 4; ++t) pthread_join(thread[t], 0);
  printf("wrong %ld of %ld\n", wrong, calls);
  return wrong != 0;
}
CODE
}
generate >"$work/thousand.c"
check "the generated program compiles" \
  gcc -O2 -g -pthread "$work/thousand.c" -o "$work/thousand"
definitions=$(for ((k = 0; k < functions; k++)); do printf 'f%d(long a);' "$k"; done)
PATCHBAY_FUNCTION_EVENTS=$definitions LD_PRELOAD=$agent "$work/thousand" $((seconds + 2)) \
  >"$work/out" 2>"$work/err" &
pid=$!
started "$pid"
check "the agent answers" wait_for 20 "$patchbay" cat $pid events/functions/enable
toggles=0
end=$((SECONDS + seconds))
while ((SECONDS < end)) && kill -0 $pid 2>/dev/null; do
  "$patchbay" write $pid events/functions/enable 1 || { fail "enabling failed"; break; }
  # Single ones too, so that sites change beside each other.
  "$patchbay" write $pid "events/functions/f$((RANDOM % functions))/enable" 0 || fail "one off"
  "$patchbay" write $pid events/functions/enable 0 || { fail "disabling failed"; break; }
  toggles=$((toggles + 1))
done
wait $pid
same "exit status" 0 $?
has "every result right" "$(cat "$work/out")" '^wrong 0 of [1-9]'
check "something was toggled" test $toggles -gt 2
"$patchbay" recover "$PATCHBAY_DIR" -o "$work/t.dat" >"$work/recover.out" 2>&1
"$patchbay" report -i "$work/t.dat" >"$work/report" 2>&1
events=$(grep -c -- '->f' "$work/report")
((${events:-0} > 0)) || head -n 20 "$work/report"
cat "$work/recover.out"
check "events were recorded meanwhile" test "${events:-0}" -gt 0
echo "$toggles times $functions functions on and off; $(cat "$work/out"); $events events kept"
finish
