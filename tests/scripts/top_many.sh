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
__attribute__((noinline)) int a_name_of_more_than_30_bytes_is_cut(int n) {
  __asm__ volatile("");
  return n + 3;
}
/* Each line is a number of calls, which are answered when they are over. */
int main(void) {
  int count, sum = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (scanf("%d", &count) == 1 && count >= 0) {
    for (int i = 0; i < count; i++) sum += work(i);
    sum = a_name_of_more_than_30_bytes_is_cut(rare(sum));
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
# begun NAME… : they are profiled, and top has begun to count.
begun() {
  local name
  for name in "$@"; do profiled "$name"; done
  wait_for 20 test -s "${table:-many.json}" || fail "there is no table: $(cat err)"
}
# figure_of WHAT FILE FUNCTION [PID] : of the last whole table, of all or of one process.
figure_of() {
  python3 - "$@" <<'PYTHON'
import json, sys
what, path, function, pid = (sys.argv[1:] + ["0"])[:4]
with open(path) as file: table = json.loads([line for line in file if line.endswith("\n")][-1])
if int(pid): table = next(one for one in table["processes"] if one["pid"] == int(pid))
print(sum(one[what] for one in table["functions"] if one["function"] == function))
PYTHON
}
calls_of() { figure_of calls "$@"; } # FILE FUNCTION [PID]
shows() { [[ $(calls_of "${@:2}") == "$1" ]]; } # COUNT FILE FUNCTION [PID]
shown() { wait_for 20 shows "$@" || fail "no table has $*, but $(calls_of "${@:2}")"; }

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
begun one two late
call one 1000
call two 2000
call late 3000
call one 500
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
  '^# patchbay top: 2 processes, [0-9]+\.[0-9] s, 0 functions, 0 calls$'
same "--per-process: a table of each, and of all" 3 "$(grep -c '^# patchbay top' <<<"$text")"
has "a process" "$text" "^# patchbay top: process ${pid[one]} $work/calls, "

# --- some end
rm -f many.json
"$patchbay" top -p "${pid[one]},${pid[two]},${pid[late]}" -l work --json --per-process -d 0.2 \
  -o many.json 2>err &
top=$!
started $top
begun one two late
call one 100
call two 200
call late 300
finish_one one # at once: what it has counted is in its directory
shown 300 many.json work "${pid[late]}"
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
same "nothing of it is recent" 0 "$(figure_of recent_calls many.json work "${pid[late]}")"
has "it says so" "$(cat err)" 'all processes have ended'
has "the killed one's last counts may be missing" "$(cat err)" \
  "process ${pid[late]} \(calls\) did not end by exit\(\); what it counted is that of [0-9.]+ s"
same "and nobody else's" 1 "$(grep -c 'did not end' err)"

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

# --- who does not answer, the keys, and what was on before
begin first LD_PRELOAD="$agent"
begin second LD_PRELOAD="$agent"
for name in first second; do
  wait_for 20 "$patchbay" cat "${pid[$name]}" tracing_on || fail "$name has no agent"
done
cat >keys.py <<'PYTHON'
import glob, os, pty, re, select, signal, subprocess, sys, time
patchbay, first, second = sys.argv[1:4]
class Screen:
    def __init__(self):
        self.master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [patchbay, "top", "-d", "0.2", "-l", "work", "-p", first + "," + second],
            stdin=slave, stdout=slave, stderr=open("keys.err", "w"))
    def until(self, what, pattern):
        end = time.time() + 20
        while time.time() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            if re.search(pattern, self.text): return
        print("FAIL", what, repr(self.text[-300:]))
    def key(self, key):
        self.text = ""
        os.write(self.master, key.encode())
def stop(pid):
    """kill() returns before the threads stand: until one has run, the others serve on."""
    os.kill(int(pid), signal.SIGSTOP)
    states = ""
    while states.strip("T") or not states:
        states = ""
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            with open(path) as file: states += file.read().rpartition(")")[2].split()[0]
def call(name, count):
    with open(name + ".in", "w") as file: file.write(f"{count}\n")
screen = Screen()
screen.until("begins", r"2 processes, [0-9.]+ s, 0 functions, 0 calls")
call("first", 100)
call("second", 30)
screen.until("counts", r", 130 calls")
stop(first)
screen.key("r")
screen.until("who does not answer is named", rf"Process {first} does not answer")
screen.until("all begin at 0", r", 0 calls")
call("second", 4)
screen.until("the others count from 0", r", 4 calls")
screen.until("how many are silent", r"2 processes, 1 of them silent, [0-9.]+ s")
screen.text = ""
os.kill(int(first), signal.SIGCONT)
screen.until("it has answered", r"2 processes, [0-9.]+ s")
call("first", 3)
screen.until("who was silent counts from there", r", 7 calls")
call("second", -1)
screen.until("one ends", r"2 processes, 1 of them ended, ")
screen.key("r")
screen.until("who has ended begins at 0, too", r"1 of them ended, [0-9.]+ s, 0 functions, 0 calls")
call("first", 5)
screen.until("and stays there", r", 5 calls")
stop(first)
screen.key("q")
print("status", screen.process.wait(30))
PYTHON
same "keys" "status 0" \
  "$(timeout 200 python3 keys.py "$patchbay" "${pid[first]}" "${pid[second]}" 2>&1)"
has "what stays is said" "$(cat keys.err)" \
  "Process ${pid[first]} does not answer \(stopped\?\): what was enabled in it stays so"
kill -CONT "${pid[first]}"

begin again LD_PRELOAD="$agent"
wait_for 20 "$patchbay" cat "${pid[again]}" tracing_on || fail "again has no agent"
# Counts of functions whose names are cut are subtracted, too.
"$patchbay" write "${pid[again]}" set_ftrace_filter 'a_name*'
"$patchbay" write "${pid[again]}" function_profile_enabled 1
call again 1
rm -f many.json
"$patchbay" top -p "${pid[again]},${pid[first]}" --json -d 0.2 -o many.json 2>err &
top=$!
started $top
begun first again
call again 1
kill -INT $top
wait $top
same "what was counted before is not counted" 1 \
  "$(calls_of many.json a_name_of_more_than_30_bytes_is_cut)"

# Another command that sets the processes up is waited for, but not by who is told to end.
for name in first again; do
  touch "$PATCHBAY_DIR/${pid[$name]}/uses.lock"
  flock -F "$PATCHBAY_DIR/${pid[$name]}/uses.lock" sleep 1000 &
  started $!
done
is_locked() { ! flock -n "$PATCHBAY_DIR/${pid[$1]}/uses.lock" true; }
for name in first again; do wait_for 20 is_locked $name || fail "$name is not locked"; done
"$patchbay" top -p "${pid[first]},${pid[again]}" --once -d 600 >out 2>err &
top=$!
started $top
sleep 1
kill -INT $top
wait_for 5 sh -c "! kill -0 $top 2>/dev/null" || fail "Ctrl-C does not end the wait"
wait $top
same "Ctrl-C before anybody is profiled: status" 1 $?
same "and its sentence" "patchbay top: no process was profiled." "$(cat err)"

# --- many processes and few descriptors
pids=
for i in 1 2 3 4 5 6 7 8; do
  begin "m$i" LD_PRELOAD="$agent"
  wait_for 20 "$patchbay" cat "${pid[m$i]}" tracing_on || fail "m$i has no agent"
  pids+=${pids:+,}${pid[m$i]}
done
out=$(ulimit -Sn 20 && "$patchbay" top -p "$pids" --once -d 0.2 -l work 2>&1)
has "the soft limit of descriptors is no limit" "$out" '^# patchbay top: 8 processes, '

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
  table=group.json begun three
  begin four
  echo "${pid[four]}" >$group/cgroup.procs
  profiled four
  call three 70
  call four 7
  shown 77 group.json work
  check "four has counted for less time" python3 - "${pid[four]}" <<'PYTHON'
import json, sys
with open("group.json") as file: lines = [line for line in file if line.endswith("\n")]
table = json.loads(lines[-1])
own = {one["pid"]: one["seconds"] for one in table["processes"]}
sys.exit(not own[int(sys.argv[1])] < max(own.values()) <= table["seconds"])
PYTHON
  # Who is busy for a while is tried again, and the others are looked at meanwhile.
  begin busy LD_PRELOAD="$agent"
  wait_for 20 "$patchbay" cat "${pid[busy]}" tracing_on || fail "busy has no agent"
  "$patchbay" write "${pid[busy]}" function_profile_enabled 1
  echo "${pid[busy]}" >$group/cgroup.procs
  sleep 2
  same "who is busy is not refused at once" "" "$(cat err)"
  "$patchbay" write "${pid[busy]}" function_profile_enabled 0
  profiled busy
  begin held LD_PRELOAD="$agent"
  wait_for 20 "$patchbay" cat "${pid[held]}" tracing_on || fail "held has no agent"
  touch "$PATCHBAY_DIR/${pid[held]}/uses.lock"
  flock -F "$PATCHBAY_DIR/${pid[held]}/uses.lock" sleep 1000 &
  holder=$!
  started $holder
  wait_for 20 is_locked held || fail "held is not locked"
  echo "${pid[held]}" >$group/cgroup.procs
  sleep 1
  call three 5
  wait_for 8 shows 82 group.json work || fail "one that comes keeps the others waiting"
  kill $holder
  profiled held
  begin marked # without an agent, which another command is about to put in
  touch "$PATCHBAY_DIR/${pid[marked]}.attached"
  flock -F "$PATCHBAY_DIR/${pid[marked]}.attached" sleep 1000 &
  holder=$!
  started $holder
  wait_for 20 eval '! flock -n "$PATCHBAY_DIR/${pid[marked]}.attached" true' ||
    fail "marked is not locked"
  echo "${pid[marked]}" >$group/cgroup.procs
  sleep 1
  call three 5
  wait_for 8 shows 87 group.json work || fail "one without an agent keeps the others waiting"
  kill $holder
  profiled marked
  kill -9 "${pid[busy]}" "${pid[held]}" "${pid[marked]}"
  program=still begin later_static
  echo "${pid[later_static]}" >$group/cgroup.procs
  wait_for 20 grep -q "process ${pid[later_static]} (still) is not in the sums" err ||
    fail "who comes and cannot be profiled is not named: $(cat err)"
  files=$(find /proc/$top/fd | wc -l)
  finish_one three
  finish_one four
  kill -9 "${pid[later_static]}"
  wait_for 20 sh -c "grep -qv 'has_ended\": false' group.json" || fail "the ends are not noticed"
  check "who has ended is left: fewer descriptors than $files" \
    test "$(find /proc/$top/fd | wc -l)" -lt "$files"
  check "an empty group is waited for" kill -0 $top
  kill -INT $top
  wait $top
  same "Ctrl-C ends it, too" 0 $?
  same "the sum stays" 87 "$(calls_of group.json work)"
  # One table, of those that come while it is waited for, too.
  "$patchbay" top --cgroup $group -l work --json --once -d 600 >once.json 2>err &
  top=$!
  started $top
  for name in five six; do
    begin $name
    echo "${pid[$name]}" >$group/cgroup.procs
    profiled $name
    # What a look at all has switched on, it has also counted from.
    wait_for 20 "$patchbay" cat "${pid[$name]}" trace_stat/function0
    sleep 1
  done
  call five 9
  call six 11
  finish_one five
  sleep 5 # looks at six are 2 s apart at most
  kill -9 "${pid[six]}"
  wait_for 20 grep -q . err
  kill -INT $top
  wait $top
  same "--once: those that have come" 20 "$(calls_of once.json work)"
  has "--once: and who was killed" "$(cat err)" "process ${pid[six]} \(calls\) did not end by exit"
else
  echo "top_many.sh: control groups cannot be made ($(cat mkdir.err)): --cgroup was NOT tried"
fi
finish
