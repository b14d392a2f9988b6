#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Faults that are ours, where it is hard to catch them: docs/fault_fixups.md has them all.
. "$(dirname "$0")/common.bash"

# recorded PROGRAM ARGUMENT… : `patchbay record ARGUMENT…` changes neither output nor status.
recorded() {
  local program=$1 plain traced status
  shift
  plain=$(timeout -k 5 60 "$programs/$program" 2>&1)
  status=$?
  traced=$(timeout -k 5 60 "$patchbay" record -o "$work/$program.dat" "$@" -- \
    "$programs/$program" 2>"$work/$program.err")
  same "$program, $*: status" "$status" $?
  traced+=$(grep -v '^\[\? *patchbay' "$work/$program.err")
  same "$program, $*: output" "$plain" "$traced"
}

# Slots of threads that are gone are looked at where libc has all signals blocked.
for _ in 1 2 3; do recorded blocked_windows -t function_graph -l ':mod:libc.so*'; done
recorded blocked_windows -t function_graph -l '*' -e 'named(string name, long n)' \
  -e 'execve(string path)' -e 'r:returned named $retval'

# The clock must not be read: strict seccomp, PR_TSC_SIGSEGV. (`programs` has the event alone.)
recorded no_clock -t function_graph -l traced
recorded no_clock -t function -l traced -e 'r:returned traced $retval'

# Our stores may be unaligned.
for event in 'checked(string text, int b)' 'checked(x64 text, int b)' \
  'int r = checked(string text, int b)' 'int r = checked(int[3] text, int b)'; do
  recorded alignment_checks -e "$event"
  same "$event: its events" 200 "$(count_of "$work/alignment_checks.dat" checked)"
done
recorded alignment_checks -t function_graph -l checked

# The end of the stack, met by each way to the probe; the program's handler sees its own function.
for way in '-t function -l deep' '-t function_graph -l deep' '-e deep(int~n)' '-e deep(string~n)' \
  '-e r:returned~deep~$retval' '-e p:inside~deep+1~ax=%ax~sp=%sp' '-e p:all~deep~ax=%ax' \
  '-e deep(int~n) -t function_graph -l deep'; do
  arguments=()
  for word in $way; do arguments+=("${word//\~/ }"); done
  recorded stack_overflow "${arguments[@]}"
done

for what in STACK_SUBSCRIBE STACK_CALLBACK; do
  same "stack_overflow with $what" "$("$programs/stack_overflow")"$'\nrecords, 0 wrong' \
    "$(env $what=1 LD_PRELOAD="$agent" "$programs/stack_overflow" 2>&1)"
done

# Where one thread signals another libc has all signals blocked, and calls getpid(): that is patched
# and left again meanwhile.
need gcc
cat >"$work/kills.c" <<'EOC'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int over;
static void on_signal(int signal) { (void)signal; }
static void* rest(void* unused) {
  while (!over) usleep(1000);
  return unused;
}
static void* kill_all_the_time(void* resting) {
  while (!over) pthread_kill(*(pthread_t*)resting, SIGUSR1);
  return 0;
}
int main(void) {
  pthread_t resting, killer[2];
  char end;
  signal(SIGUSR1, on_signal);
  pthread_create(&resting, 0, rest, 0);
  for (int i = 0; i < 2; i++) pthread_create(&killer[i], 0, kill_all_the_time, &resting);
  puts("ready");
  fflush(stdout);
  while (read(0, &end, 1) < 0) {}
  over = 1;
  for (int i = 0; i < 2; i++) pthread_join(killer[i], 0);
  pthread_join(resting, 0);
  return 0;
}
EOC
gcc -O1 -pthread -o "$work/kills" "$work/kills.c"
mkfifo "$work/kills.in"
LD_PRELOAD=$agent "$work/kills" <"$work/kills.in" >"$work/kills.out" 2>&1 &
kills=$!
started $kills
exec 5>"$work/kills.in"
wait_for 20 grep -q ready "$work/kills.out" || fail "kills: $(cat "$work/kills.out")"
wait_for 20 "$patchbay" ls $kills || fail "the agent does not answer"
"$patchbay" write $kills set_ftrace_filter getpid
for _ in $(seq 30); do
  "$patchbay" write $kills current_tracer function 2>/dev/null
  "$patchbay" write $kills current_tracer nop 2>/dev/null
done
check "a program that signals its threads goes on" kill -0 $kills
exec 5>&-
wait $kills
same "and ends as ever" 0 $?
finish
