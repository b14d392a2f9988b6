#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that execute others in their place, under the commands that measure a program of their
# own: each of them is measured, what is counted is what they have counted themselves, the exit
# status is theirs, and nothing is left.
#   measure_exec.sh BUILD_DIR [REGEX]      the stories whose name the REGEX finds; all
# shellcheck disable=SC2016  # what stands in '' is for the shells that are measured
. "$(dirname "$0")/common.bash"
need python3 gcc
cd "$work" || exit 1
wanted=${1:-}
begin() { [[ $1 =~ $wanted ]] && echo "  $1"; }
chain=$programs/exec_chain
python=$(python3 -c 'import sys; print(sys.executable)')

# measured COMMAND… : to the end. Sets status; out and err are files.
measured() {
  timeout 300 "$patchbay" "$@" >out 2>err </dev/null
  status=$?
}
nothing_left() {
  same "$1: nothing is left in the runtime directory" "" "$(ls -A "$PATCHBAY_DIR")"
}
own_count() { awk '/ calls$/ { sum += $1 } END { print sum + 0 }' out; }
# The calls of a function in the table of calls -c.
table_count() { awk -v name="$1" '$NF == name { print $1 }' err; }
executed_lines() { grep -c '^--- .* executed .* ---$' err; }

# --- calls

if begin calls-words; then
  ls / >plain
  while read -r name before command; do
    # shellcheck disable=SC2086  # words
    eval "measured calls -e opendir -- $command"
    same "$name: its exit status" 0 $status
    same "$name: its output" "$(cat plain)" "$(cat out)"
    has "$name: what it has executed" "$(cat err)" "^--- $before executed /usr/bin/ls ---$"
    has "$name: the calls of that" "$(cat err)" '^opendir\("/"\) = 0x[0-9a-f]+ <.* ms>$'
    nothing_left "$name"
  done <<END
shell [a-z]+ sh -c 'exec ls /'
env env env X=1 ls /
cleared env env -i /usr/bin/ls /
bash bash bash -c 'true; exec ls /'
python python[0-9.]* $python -c 'import os; os.execv("/usr/bin/ls", ["ls", "/"])'
END
fi

if begin calls-script; then
  # A wrapper, whose own function is not in the program, and the program's not in it.
  printf '#!/bin/bash\nexport A=1\nexec %q 4 4 "$@"\n' "$chain" >wrapper
  chmod 755 wrapper
  measured calls -e chain_call -- ./wrapper
  same "wrapper: a function that it does not have is an error" 1 $status
  has "wrapper: the error says what waits for it" "$(cat err)" 'follow waits for it in the programs'
  measured calls --follow -e chain_call -e getenv -- ./wrapper
  same "wrapper: with --follow its exit status" 7 $status
  same "wrapper: the calls of the program" "0 1 2 3" \
    "$(sed -n 's/^chain_call(\([0-9]\).*/\1/p' err | xargs)"
  has "wrapper: who has not what" "$(cat err)" "^patchbay calls: bash has no 'chain_call'$"
  measured calls --follow -e chain_coll -- ./wrapper
  same "wrapper: a function that nobody has" 7 $status
  has "wrapper: it is said" "$(cat err)" "'chain_coll': no program had such a function"
  nothing_left wrapper
fi

if begin calls-counts; then
  for way in exec thread missing child; do
    measured calls -c -e chain_call -- "$chain" 1 12 $way
    same "calls, $way: the exit status of the last" 7 $status
    same "calls, $way: each call is counted" "$(own_count)" "$(table_count chain_call)"
    nothing_left "calls, $way"
  done
  measured calls -e chain_call -- "$chain" 1 100
  same "calls, a storm: the exit status" 7 $status
  same "calls, a storm: each call has a line" 5050 "$(grep -c '^chain_call(' err)"
  same "calls, a storm: each program" 99 "$(executed_lines)"
  nothing_left "calls, a storm"
fi

if begin calls-without; then
  echo 'int main(void) { return 5; }' >static.c
  gcc -static -o static static.c || skip "gcc -static does not work here"
  measured calls -e getenv -- sh -c 'exec ./static'
  same "static: its exit status" 5 $status
  has "static: a line says it" "$(cat err)" \
    '^--- [a-z]+ executed .*/static, whose calls are not seen: statically linked ---$'
  has "static: and a sentence" "$(cat err)" '^patchbay calls: the program has executed another one'
  nothing_left static
  measured calls -e chain_call -- "$chain" 3 4 missing
  same "missing: nothing was executed in vain" 1 "$(executed_lines)"
  measured calls --follow -e chain_call -- sh -c 'exec /usr/bin/true'
  has "nothing: it is said" "$(cat err)" \
    '^--- [a-z]+ executed /usr/bin/true, which has none of the functions ---$'
fi

# --- tables: the sums of all programs of the process

# hits : of the table that hist has printed.
hits() { sed -n 's/^    Hits: //p' out; }

if begin tables; then
  for way in exec thread missing; do
    measured hist 'chain_call(int n)' keys=n -- "$chain" 1 12 $way
    same "hist, $way: the exit status of the last" 7 $status
    same "hist, $way: each call is counted" "$(own_count)" "$(hits)"
    has "hist, $way: what was executed" "$(cat err)" \
      '^patchbay hist: the program has executed exec_chain, which is counted, too$'
    measured latency chain_call -- "$chain" 1 12 $way
    same "latency, $way: the exit status of the last" 7 $status
    has "latency, $way: each call is counted" "$(cat out)" "^$(own_count) times, "
    measured sql -e 'chain_call(int n)' 'SELECT CAST(n AS HEX) FROM chain_call' -- \
      "$chain" 1 12 $way
    same "sql, $way: the exit status of the last" 7 $status
    same "sql, $way: each call is counted" "$(own_count)" "$(hits)"
    measured top --once -l chain_call -o table -- "$chain" 1 12 $way
    same "top, $way: the exit status of the last" 7 $status
    same "top, $way: each call is counted" "$(own_count)" \
      "$(awk '/ chain_call$/ { for (i = 1; i < NF; i++) if ($i == int($i)) { print $i; exit } }' \
        table)"
    nothing_left "tables, $way"
  done
  measured hist 'chain_call(int n)' keys=n.buckets=5 vals=n.quantiles -- "$chain" 1 60
  same "hist, a storm: each call is counted" 1830 "$(hits)"
  nothing_left "hist, a storm"
fi

if begin other-tables; then
  measured hist 'malloc(u64 size)' keys=size -- sh -c 'exec /usr/bin/ls /'
  has "hist: both programs count" "$(cat err)" 'has executed ls, which is counted, too$'
  measured hist 'chain_call(int n)' keys=n -- env "$chain" 4 4
  same "hist: an event that the first program lacks is an error" 1 $status
  has "hist: the error says what waits for it" "$(cat err)" 'follow waits for it in the programs'
  measured hist --follow 'chain_call(int n)' keys=n -- env "$chain" 4 4
  same "hist --follow: its exit status" 7 $status
  same "hist --follow: the calls of the program" 4 "$(hits)"
  has "hist --follow: who lacks it" "$(cat err)" '^patchbay hist: env has nothing of what is'
  measured hist --follow 'chain_coll(int n)' keys=n -- env "$chain" 4 4
  has "hist --follow: an event that nobody has" "$(cat err)" 'no program had what is to be counted'
  echo 'int main(void) { return 5; }' >static.c
  gcc -static -o static static.c || skip "gcc -static does not work here"
  for command in 'hist malloc keys=common_pid' 'latency malloc' 'top --once -l malloc -o table'; do
    # shellcheck disable=SC2086  # words
    measured $command -- env ./static
    same "static, $command: its exit status" 5 $status
    has "static, $command: it is said" "$(cat err)" \
      'the program has executed another one \(.*static\), .*: statically linked$'
  done
  nothing_left "other tables"
fi

# --- two threads that execute at once

if begin race; then
  cat >race.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char number[16], *self;
__attribute__((noinline)) int race_call(int n) {
  __asm__ volatile("" : "+r"(n)::"memory");
  return n;
}
static void* execute(void* unused) {
  char* words[] = {self, number, NULL};
  execv(self, words);
  return unused;
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t thread;
  self = argv[0];
  race_call(n);
  if (n == 0) return 7;
  snprintf(number, sizeof number, "%d", n - 1);
  for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, execute, NULL);
  pause();
}
END
  gcc -O1 -o race race.c -lpthread
  for command in 'hist race_call keys=common_pid' 'latency race_call' \
    'top --once -l race_call -o table'; do
    # shellcheck disable=SC2086  # words
    measured $command -- ./race 20
    same "race, $command: the exit status of the last" 7 $status
    same "race, $command: nothing is lost" 0 "$(grep -c 'what it counted is that of' err)"
  done
  nothing_left race
fi

# --- the end of one that goes on

# stay COMMAND… : a chain of three whose last program stays. Sets tool and pid.
stay() {
  local commands=("$@")
  : >out
  # In the background SIGINT would be ignored.
  env --default-signal=INT "$patchbay" "${commands[@]}" -- "$chain" 1 3 stay >out 2>err </dev/null &
  tool=$!
  started $tool
  wait_for 120 grep -q '^3 calls$' out || fail "${commands[0]}: the last program does not begin"
  pid=$(pgrep -P $tool -f exec_chain)
  started "$pid"
}
ended() {
  wait $tool
  same "$1: the exit status" "$2" $?
  same "$1: nobody goes on" "" "$(start_time "$pid")"
  nothing_left "$1"
}

while read -r name options; do
  begin "end-$name" || continue
  # shellcheck disable=SC2086  # words
  stay $options
  kill -9 "$pid"
  ended "$name, kill -9" 137
  stay $options
  kill -INT $tool
  ended "$name, Ctrl-C" 130
done <<END
calls calls -e chain_call
hist hist chain_call keys=common_pid
latency latency chain_call
top top -d 0.2 -l chain_call -o table
END

finish
