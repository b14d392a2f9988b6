#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay top over several processes: exact sums, those that end, those that come to a control
# group, those that cannot be profiled, and that each is left as it was.
#   top_many.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc python3
cd "$work" || exit
cat >calls.c <<'EOC'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline)) int rare(int n) { __asm__ volatile(""); return n + 2; }
/* Each line is a number of calls, which are answered when they are over. */
int main(void) {
  int count, sum = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (scanf("%d", &count) == 1 && count >= 0) {
    for (int i = 0; i < count; i++) sum += work(i);
    rare(sum);
    printf("done %d\n", count);
  }
  return 0;
}
EOC
gcc -O1 -o calls calls.c || exit
gcc -O1 -static -o still calls.c || exit

# begin NAME [VARIABLE=VALUE...] : starts a program; its input is the descriptor in ${in[NAME]}.
declare -A in pid
begin() {
  local name=$1 fd
  shift
  mkfifo "$name.in"
  env "$@" ./"${program:-calls}" <"$name.in" >"$name.out" 2>"$name.err" &
  pid[$name]=$!
  started $!
  exec {fd}>"$name.in"
  in[$name]=$fd
}
call() { # NAME COUNT : and waits for the answer
  local before
  before=$(grep -c . "$1.out")
  echo "$2" >&"${in[$1]}"
  wait_for 20 sh -c "[ \$(grep -c . $1.out) -gt $before ]" || fail "$1 does not answer"
}
finish_one() { # NAME
  echo -1 >&"${in[$1]}"
  wait "${pid[$1]}"
}
is_profiled() { [[ $("$patchbay" cat "$1" function_profile_enabled 2>/dev/null) == 1 ]]; }
profiled() { wait_for 20 is_profiled "${pid[$1]}" || fail "$1 is not profiled: $(cat err)"; }
# calls_of FILE FUNCTION [PID] : of the last table, of all or of one process.
calls_of() {
  python3 - "$@" <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file: table = json.loads(file.readlines()[-1])
if len(sys.argv) > 3:
    table = next(one for one in table["processes"] if one["pid"] == int(sys.argv[3]))
print(sum(one["calls"] for one in table["functions"] if one["function"] == sys.argv[2]))
PYTHON
}

begin one LD_PRELOAD="$agent"
begin two LD_PRELOAD="$agent"
begin late
for name in one two; do
  wait_for 20 "$patchbay" cat "${pid[$name]}" tracing_on || fail "$name has no agent"
done

# --- sums, of processes with an agent and of one without
"$patchbay" top -p "${pid[one]},${pid[two]}" -p "${pid[late]}" -p "${pid[one]}" -l work -l rare \
  --json --per-process -d 0.2 -o many.json 2>err &
top=$!
started $top
for name in one two late; do profiled $name; done
call one 1000
call two 2000
call late 3000
call one 500
sleep 0.5
kill -INT $top
wait $top
same "Ctrl-C ends it" 0 $?
same "the sum" "6500 4" "$(calls_of many.json work) $(calls_of many.json rare)"
for row in "one 1500" "two 2000" "late 3000"; do
  read -r name count <<<"$row"
  same "of $name" "$count" "$(calls_of many.json work "${pid[$name]}")"
done
same "nobody was refused" "" "$(cat err)"
for name in one two; do
  same "the profiler of $name is off" 0 \
    "$("$patchbay" cat "${pid[$name]}" function_profile_enabled)"
done
check "the agent of the third one is asleep again" test ! -e "$PATCHBAY_DIR/${pid[late]}"

# --- as text
text=$("$patchbay" top --once -d 0.2 --per-process -l work --all)
has "--all: those with an agent" "$text" \
  '^# patchbay top: 2 processes, 0\.[2-9] s, 0 functions, 0 calls$'
same "--per-process: a table of each, and of all" 3 "$(grep -c '^# patchbay top' <<<"$text")"
has "a process" "$text" "^# patchbay top: process ${pid[one]} $work/calls, "

# --- some end
"$patchbay" top -p "${pid[one]},${pid[two]},${pid[late]}" -l work --json --per-process -d 0.2 \
  -o many.json 2>err &
top=$!
started $top
for name in one two late; do profiled $name; done
call one 100
call two 200
call late 300
finish_one one # at once: what it has counted is in its directory
sleep 0.7
kill -9 "${pid[late]}" # what it had at the last look
wait_for 20 sh -c "grep -q 'has_ended\": true.*has_ended\": true' many.json" ||
  fail "an end is not noticed"
call two 50
finish_one two
wait_for 20 sh -c "! kill -0 $top 2>/dev/null" || fail "top goes on without processes"
wait $top
same "it ends with the last one" 0 $?
check "who was attached to has left nothing" test ! -e "$PATCHBAY_DIR/${pid[late]}"
same "the sum has those that have ended" 650 "$(calls_of many.json work)"
same "of the one that was killed" 300 "$(calls_of many.json work "${pid[late]}")"
has "it says so" "$(cat err)" 'all processes have ended'

# --- who cannot be profiled, and mistakes
begin three LD_PRELOAD="$agent"
program=still begin static
wait_for 20 "$patchbay" cat "${pid[three]}" tracing_on || fail "three has no agent"
"$patchbay" top -p "${pid[three]},${pid[static]}" --once -d 0.2 --json -l work >out 2>err
same "one that cannot be profiled is no error" 0 $?
has "it is said" "$(cat err)" \
  "process ${pid[static]} \(still\) is not in the sums: is a static program"
has "also in JSON" "$(cat out)" \
  "\"refused\": \[\{\"pid\": ${pid[static]}, \"exe\": \".*/still\", \"reason\": \".*static"
LD_PRELOAD=$agent sleep 1000 &
pid[other]=$!
started $!
wait_for 20 "$patchbay" cat "${pid[other]}" tracing_on || fail "sleep has no agent"
out=$("$patchbay" top --all --once -d 0.2 --json -l rare 2>err)
same "one that lacks the function is no error" 0 $?
has "it is said of the one" "$(cat err)" "process ${pid[other]} .* is not in the sums: .*rare"
has "the other is profiled" "$out" "\"processes\": \[\{\"pid\": ${pid[three]}, "
"$patchbay" top -p "${pid[three]},4194000" --once >out 2>err
same "a process that is not there" 1 $?
has "which one" "$(cat err)" '4194000: there is no such process'
"$patchbay" top -p "${pid[three]},x" --once >out 2>err
same "no number" 2 $?
"$patchbay" top --all -- ls >out 2>err
same "processes and a program" 2 $?
"$patchbay" top -p "${pid[three]}" --per-process --once >out 2>err
same "--per-process of one" 2 $?
"$patchbay" top --all -l calls_nosuch --once >out 2>err
same "a function that nobody has" 1 $?
has "says which" "$(cat err)" 'calls_nosuch'

# --- a control group, and who comes to it
group=/sys/fs/cgroup/patchbay-top-$$
[[ -e /sys/fs/cgroup/cgroup.procs ]] || group=/sys/fs/cgroup/unified/patchbay-top-$$
if mkdir $group 2>mkdir.err; then
  leave() {
    xargs -r kill -9 <$group/cgroup.procs
    wait_for 10 rmdir $group
    cleanup
  }
  trap leave EXIT
  echo "${pid[three]}" >$group/cgroup.procs
  "$patchbay" top --cgroup $group -l work --json --per-process -d 0.2 -o group.json 2>err &
  top=$!
  started $top
  profiled three
  begin four
  echo "${pid[four]}" >$group/cgroup.procs
  profiled four
  call three 70
  call four 7
  sleep 0.5
  same "the group" 77 "$(calls_of group.json work)"
  finish_one three
  finish_one four
  sleep 0.5
  check "an empty group is waited for" kill -0 $top
  kill -INT $top
  wait $top
  same "Ctrl-C ends it, too" 0 $?
  same "the sum stays" 77 "$(calls_of group.json work)"
else
  echo "top_many.sh: control groups cannot be made ($(cat mkdir.err)): --cgroup was NOT tried"
fi
finish
