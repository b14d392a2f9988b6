#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several running processes in one recording: what is counted in each process is what it says it has
# done, whoever ends, executes something, comes late or cannot be recorded meanwhile; and each is
# left as it was.
#   record_many.sh BUILD_DIR [REGEX]      the stories whose name the REGEX finds; all
. "$(dirname "$0")/common.bash"
need python3 gcc
cd "$work" || exit 1
[[ -x $build/tests/attach/forks ]] || skip "the programs of tests/attach were not built"
wanted=${1:-}
begin() { [[ $1 =~ $wanted ]] && echo "  $1"; }

# --- processes that do what they are told: `forks` of tests/attach, each in a folder of its own

# new NAME : pid_of[NAME]
declare -A pid_of
new() {
  mkdir -p "$work/$1"
  rm -f "$work/$1"/*
  mkfifo "$work/$1/first.in"
  "${@:2}" "$build/tests/attach/forks" "$work/$1" >/dev/null 2>&1 &
  disown $!
  wait_for 20 grep -q ready "$work/$1/first.out" || fail "$1 did not start"
  pid_of[$1]=$(awk '$1 == "ready" { print $2; exit }' "$work/$1/first.out")
  started "${pid_of[$1]}"
}
# tell NAME COMMAND [WHO] : one line; its answer is waited for.
tell() {
  local who=${3:-first} before
  before=$(wc -l <"$work/$1/$who.out")
  echo "$2" >"$work/$1/$who.in"
  [[ $2 == end ]] || wait_for 60 eval "((\$(wc -l <'$work/$1/$who.out') > $before))" ||
    fail "$1 does not answer to $2"
}
end_all() {
  local name
  for name in "${!pid_of[@]}"; do kill -9 "${pid_of[$name]}" 2>/dev/null; done
  pid_of=()
}

# --- the recording

# record WORD… : in the background, until it says that it records. Sets recorder.
record() {
  rm -f many.dat record.err
  "$patchbay" record -o many.dat "$@" 2>record.err &
  recorder=$!
  started $recorder
  wait_for 60 grep -qE 'Ctrl-C ends the recording|patchbay record: ' record.err ||
    fail "record does not begin: $(cat record.err)"
}
# is_set_up PID [RECORDER] : its events are on.
is_set_up() {
  local file=instances/patchbay-${2:-$recorder}-1/set_event
  wait_for 60 eval "\"$patchbay\" cat $1 $file | grep -q ."
}
# stop : by Ctrl-C. Sets status, said.
stop() {
  kill -INT $recorder
  ended
}
# ended : it ends by itself, or has been told. A hang fails.
ended() {
  local end=$((SECONDS + 90))
  while kill -0 $recorder 2>/dev/null && ((SECONDS < end)); do sleep 0.02; done
  if kill -0 $recorder 2>/dev/null; then
    fail "record hangs: $(cat record.err)"
    kill -9 $recorder
  fi
  wait $recorder 2>/dev/null
  status=$?
  said=$(cat record.err)
}
# events NAME|PID [FILE] : how many events of this process there are.
events() {
  local pid=${pid_of[$1]:-$1}
  "$patchbay" report --pid "$pid" "${2:-many.dat}" 2>/dev/null | grep -c 'tick('
}
# text_of_program PID : of its executable, as it is in memory.
text_of_program() {
  python3 - "$1" <<'PYTHON'
import hashlib, os, sys
exe = os.readlink(f"/proc/{sys.argv[1]}/exe")
with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb") as memory:
    for line in maps:
        words = line.split(None, 5)
        if "x" in words[1] and words[-1].strip() == exe:
            start, end = (int(word, 16) for word in words[0].split("-"))
            memory.seek(start)
            print(hashlib.sha256(memory.read(end - start)).hexdigest())
PYTHON
}
# nothing_left : neither in the processes nor in the folders.
nothing_left() {
  local name
  same "$1: no part is left" "" "$(compgen -G "*.part")"
  same "$1: nothing is left in the runtime directory" "" "$(ls "$PATCHBAY_DIR")"
  for name in "${!pid_of[@]}"; do
    [[ -e /proc/${pid_of[$name]}/task ]] || continue
    same "$1: no thread of ours in $name" "" \
      "$(grep -l patchbay "/proc/${pid_of[$name]}"/task/*/comm 2>/dev/null)"
  done
}
tick=(-e 'tick(int n)')

if begin two; then
  new one; new two
  record "${tick[@]}" -p "${pid_of[one]}" -p "${pid_of[two]}"
  tell one "work 1000"; tell two "work 2345"; tell one "work 7"
  stop
  same "two: status" 0 $status
  same "two: events of one" 1007 "$(events one)"
  same "two: events of two" 2345 "$(events two)"
  has "two: the summary" "$said" '^\[ patchbay record: 3352 events, .* in many.dat; lost 0 '
  has "two: who is in it" "$said" '2 processes are in the file: forks \(2\) \]'
  has "two: they go on" "$said" 'recording has stopped; 2 processes go on'
  same "two: they are listed" 2 \
    "$("$patchbay" report --processes many.dat | grep -c "forks $work/")"
  same "two: --exe" 3352 "$("$patchbay" report --exe forks many.dat | grep -c 'tick(')"
  same "two: in order of time" "" \
    "$("$patchbay" report many.dat | grep -oE ' [0-9]+\.[0-9]{6}: ' | sort -c -n 2>&1)"
  nothing_left two
  record "${tick[@]}" -p "${pid_of[two]},${pid_of[one]}"
  tell one "work 5"; tell two "work 6"
  stop
  same "two, again, with a comma" "0 5 6" "$status $(events one) $(events two)"
  # The same one twice is one, and is recorded as one is.
  record "${tick[@]}" -p "${pid_of[one]}" -p "${pid_of[one]},${pid_of[one]}"
  tell one "work 11"
  stop
  same "the same one twice" "0 11" "$status $("$patchbay" report many.dat | grep -c 'tick(')"
  nothing_left "two, again"
  end_all
fi

if begin three; then
  # One has the agent from its start, one gets it by hand, one is recorded by somebody else as well.
  new one env LD_PRELOAD="$agent"; new two; new three
  "$patchbay" attach "${pid_of[two]}" >/dev/null 2>&1
  "$patchbay" record -q "${tick[@]}" -p "${pid_of[three]}" -o other.dat 2>/dev/null &
  other=$!
  started $other
  wait_for 20 "$patchbay" ls "${pid_of[three]}" events/functions/tick
  wait_for 20 "$patchbay" cat "${pid_of[three]}" "instances/patchbay-$other-1/set_event" ||
    fail "the other recording does not begin"
  record "${tick[@]}" -p "${pid_of[one]}" -p "${pid_of[two]}" -p "${pid_of[three]}"
  for name in one two three; do tell $name "work 1234"; done
  stop
  tell three "work 6"
  kill -INT $other
  wait $other
  same "three" "0 1234 1234 1234" "$status $(events one) $(events two) $(events three)"
  same "three: the other recording" 1240 "$(events three other.dat)"
  has "three: two keep the agent" "$("$patchbay" list processes)" "^ *${pid_of[two]} .*attached"
  # --all: those that carry it; `three` has been left.
  record "${tick[@]}" --all
  for name in one two three; do tell $name "work 17"; done
  stop
  same "all" "0 17 17 0" "$status $(events one) $(events two) $(events three)"
  "$patchbay" detach "${pid_of[two]}"
  kill -9 "${pid_of[one]}"
  wait_for 20 eval "! kill -0 ${pid_of[one]} 2>/dev/null"
  "$patchbay" clean >/dev/null 2>&1
  rm -rf "${PATCHBAY_DIR:?}/${pid_of[one]}"
  nothing_left three
  said=$("$patchbay" record "${tick[@]}" --all -o none.dat 2>&1)
  same "all: nobody has an agent" 1 $?
  has "all: that is said" "$said" 'no process has an agent'
  check "all: no file is made" test ! -e none.dat
  end_all
fi

if begin forty; then
  args=()
  for n in $(seq 40); do
    new "p$n"
    args+=(-p "${pid_of[p$n]}")
  done
  record "${tick[@]}" "${args[@]}"
  for n in $(seq 40); do echo "work $((n * 10))" >"p$n/first.in"; done
  for n in $(seq 40); do
    wait_for 60 grep -q "did work" "p$n/first.out" || fail "p$n does not work"
  done
  stop
  same "forty: status" 0 $status
  right=0
  "$patchbay" report many.dat 2>/dev/null | sed -n 's/^ *forks-\([0-9]*\) .*tick(.*/\1/p' |
    sort | uniq -c >counts
  for n in $(seq 40); do
    [[ $(awk -v pid="${pid_of[p$n]}" '$2 == pid { print $1 }' counts) == $((n * 10)) ]] &&
      right=$((right + 1))
  done
  same "forty: exact counts" 40 $right
  has "forty: all" "$said" 'record: 8200 events, .*; lost 0 '
  nothing_left forty
  end_all
fi

if begin killed; then
  new one; new two; new three
  record "${tick[@]}" -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  for name in one two three; do tell $name "work 500"; done
  kill -9 "${pid_of[two]}"
  tell one "work 1"; tell three "work 2"
  echo end >one/first.in
  wait_for 20 eval "! kill -0 ${pid_of[one]} 2>/dev/null"
  tell three "work 3"
  stop
  same "killed" "0 501 500 505" "$status $(events one) $(events two) $(events three)"
  has "killed: who has ended" "$said" '2 processes have ended'
  has "killed: who goes on" "$said" '1 process goes on'
  nothing_left killed
  # All end: so does the recording.
  new one; new two
  record "${tick[@]}" -p "${pid_of[one]},${pid_of[two]}"
  tell one "work 9"; tell two "work 8"
  kill -9 "${pid_of[two]}"; echo end >one/first.in
  ended
  same "all have ended" "0 9 8" "$status $(events one) $(events two)"
  has "… as it says" "$said" '2 processes have ended'
  nothing_left "all have ended"
  end_all
fi

if begin children; then
  # A forked child records with its parent, also when that has ended before it.
  cat >orphan.c <<'EOC'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int tick(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void) {
  char line[32];
  printf("parent %d\n", (int)getpid()), fflush(stdout);
  if (fgets(line, sizeof line, stdin) == 0) return 1;
  if (fork() > 0) {
    for (int i = 0; i < 30; i++) tick(i);
    pause();
  }
  printf("child %d\n", (int)getpid()), fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    for (int i = 0, n = atoi(line); i < n; i++) tick(i);
    puts("did"), fflush(stdout);
  }
  pause();
}
EOC
  check "it is compiled" gcc -O1 -o orphan orphan.c
  mkfifo orphan.in
  ./orphan <orphan.in >orphan.out &
  disown $!
  exec 5>orphan.in
  wait_for 20 grep -q parent orphan.out
  parent=$(awk '/parent/ { print $2 }' orphan.out)
  started "$parent"
  new two
  record "${tick[@]}" -p "$parent,${pid_of[two]}"
  echo >&5
  wait_for 20 grep -q child orphan.out
  child=$(awk '/child/ { print $2 }' orphan.out)
  started "$child"
  did() {
    wait_for 20 eval "((\$(grep -c did orphan.out) == $1))" || fail "the child does nothing"
  }
  echo 40 >&5
  did 1
  tell two "work 50"
  kill -9 "$parent"
  wait_for 20 eval "! kill -0 $parent 2>/dev/null"
  sleep 0.3
  echo 60 >&5
  did 2
  kill -9 "${pid_of[two]}"
  sleep 0.5
  check "it goes on for the child" kill -0 $recorder
  echo 7 >&5
  did 3
  kill -9 "$child"
  ended
  exec 5>&-
  same "children" "0 30 107 50" "$status $(events "$parent") $(events "$child") $(events two)"
  nothing_left children
  end_all
  # The parent has ended, the child lives at Ctrl-C: it is left as it was, too.
  rm -f orphan.in orphan.out
  mkfifo orphan.in
  ./orphan <orphan.in >orphan.out &
  disown $!
  exec 5>orphan.in
  wait_for 20 grep -q parent orphan.out
  parent=$(awk '/parent/ { print $2 }' orphan.out)
  started "$parent"
  text=$(text_of_program "$parent")
  new two
  record "${tick[@]}" -p "$parent,${pid_of[two]}"
  echo >&5
  wait_for 20 grep -q child orphan.out
  child=$(awk '/child/ { print $2 }' orphan.out)
  started "$child"
  check "orphan: its text is another one" test "$text" != "$(text_of_program "$child")"
  echo 40 >&5
  did 1
  kill -9 "$parent"
  wait_for 20 eval "! kill -0 $parent 2>/dev/null"
  sleep 1
  check "it goes on for the child, again" kill -0 $recorder
  echo 60 >&5
  did 2
  stop
  same "orphan" "0 30 100" "$status $(events "$parent") $(events "$child")"
  same "orphan: its text is as it was" "$text" "$(text_of_program "$child")"
  echo 7 >&5
  did 3
  kill -9 "$child"
  exec 5>&-
  nothing_left orphan
  end_all
fi

if begin executes; then
  new one
  mkfifo go
  bash -c 'echo $$ >shell.pid; read -r line; exec "$0" 1000' "$programs/steady" <>go &
  disown $!
  wait_for 20 test -s shell.pid
  shell=$(cat shell.pid)
  started "$shell"
  record -e 'tick(int n)' -e 'read(int fd)' -p "${pid_of[one]},$shell"
  echo >go
  wait_for 20 eval "[[ \$(readlink /proc/$shell/exe) == */steady ]]"
  tell one "work 12"
  stop
  same "executes: status and events" "0 12" "$status $(events one)"
  has "executes: it is said" "$said" "process $shell has executed .*/steady, which is not recorded"
  has "executes: who has no tick" "$said" "bash \($shell\): has no 'tick\(int n\)'"
  has "executes: in the list, too" "$("$patchbay" report --processes many.dat)" \
    'steady.*|executed by a process that was recorded'
  nothing_left executes
  end_all
  kill -9 "$shell" 2>/dev/null
fi

if begin refused; then
  new one; new two
  printf '#include <unistd.h>\nint main(void) { return pause(); }\n' >still.c
  check "a static program" gcc -static -o still still.c
  ./still &
  static=$!
  started $static
  wait_for 20 eval "[[ \$(readlink /proc/$static/exe) == */still ]]"
  # A child that has ended, and whose parent does not ask for its status.
  python3 -c 'import os, sys, time
pid = os.fork() or os._exit(0)
print(pid, flush=True)
time.sleep(1000)' >zombie &
  parent=$!
  started $parent
  wait_for 20 test -s zombie
  zombie=$(cat zombie)
  wait_for 20 grep -q 'State:.Z' "/proc/$zombie/status"
  record "${tick[@]}" -p "${pid_of[one]}" -p "$static" -p "$zombie" -p "${pid_of[two]}"
  tell one "work 100"; tell two "work 200"
  stop
  same "refused: the others are recorded" "0 100 200" "$status $(events one) $(events two)"
  has "refused: the static one" "$said" "not recorded \(.*static.*\): still \($static\)"
  has "refused: the one that has ended" "$said" "not recorded \(has ended .*\): .*\($zombie\)"
  has "refused: in the list, too" "$("$patchbay" report --processes many.dat)" 'still'
  nothing_left refused
  said=$("$patchbay" record "${tick[@]}" -p "$static" -p "$zombie" -o none.dat 2>&1)
  same "nobody can be recorded" 1 $?
  has "… which says why: static" "$said" "process $static \(still\) .*static"
  has "… which says why: ended" "$said" "process $zombie .*has ended"
  check "no file is made" test ! -e none.dat
  gone=$(bash -c 'echo $$')
  said=$("$patchbay" record "${tick[@]}" -p "${pid_of[one]},$gone" -o none.dat 2>&1)
  same "no such process" 1 $?
  has "… which says which" "$said" "-p $gone: there is no such process"
  said=$("$patchbay" record "${tick[@]}" -p "${pid_of[one]},x" -o none.dat 2>&1)
  same "not a number" 2 $?
  for words in "-k sched:sched_switch" "--uprobes" "--follow" "--no-follow"; do
    # shellcheck disable=SC2086  # two words
    said=$("$patchbay" record "${tick[@]}" -p "${pid_of[one]},${pid_of[two]}" $words \
      -o none.dat 2>&1)
    same "$words is refused" 2 $?
    has "$words: why" "$said" "^patchbay record: .*${words%% *}.* (one process|a program)"
  done
  said=$("$patchbay" record "${tick[@]}" -p "${pid_of[one]},${pid_of[two]}" -o none.dat -- \
    true 2>&1)
  same "a program as well" 2 $?
  said=$("$patchbay" record "${tick[@]}" -p "${pid_of[one]},${pid_of[two]}" -o /dev/null 2>&1)
  same "no ordinary file" 1 $?
  has "… which is said" "$said" 'takes an ordinary file as its output'
  nothing_left "refused, again"
  end_all
  kill -9 $parent $static 2>/dev/null
fi

if begin missing; then
  new one; new two
  "$programs/steady" 1000 >/dev/null 2>&1 &
  steady=$!
  started $steady
  # Nobody has it: an error, as for one process. A mistake has its caret.
  said=$("$patchbay" record -e 'tikc(int n)' -p "${pid_of[one]},$steady" -o none.dat 2>&1)
  same "nobody has it: status" 1 $?
  has "nobody has it: its name" "$said" "no process has 'tikc\(int n\)':"
  said=$("$patchbay" record -e 'tick(int n[)' -p "${pid_of[one]},$steady" -o none.dat 2>&1)
  same "a mistake: status" 1 $?
  has "a mistake: the caret" "$said" '^ +\^'
  said=$("$patchbay" record "${tick[@]}" -f 'm > 3' -p "${pid_of[one]},${pid_of[two]}" \
    -o none.dat 2>&1)
  same "a wrong filter: status" 1 $?
  has "a wrong filter: which" "$said" '\bm\b'
  check "no file is made" test ! -e none.dat
  nothing_left "nobody has it"
  # Some have it.
  record "${tick[@]}" -e 'work(long n)' -p "${pid_of[one]},${pid_of[two]},$steady"
  tell one "work 100"; tell two "work 200"
  sleep 0.3
  stop
  same "some have it" "0 100 200" "$status $(events one) $(events two)"
  has "who has no tick" "$said" "steady \($steady\): has no 'tick\(int n\)'"
  record "${tick[@]}" -p "${pid_of[one]},$steady"
  same "one that has none of it has no agent any more" "" \
    "$(grep -l patchbay /proc/$steady/task/*/comm)"
  tell one "work 3"
  stop
  same "one that has none of it" "0 3" "$status $(events one)"
  has "… is in the list" "$("$patchbay" report --processes many.dat)" ' 0 +0 +.*steady'
  nothing_left missing
  end_all
  kill -9 $steady
fi

if begin silent; then
  # One that is stopped does not keep the others from being recorded, nor the file from being made.
  new one; new two; new three
  "$patchbay" attach "${pid_of[two]}" >/dev/null 2>&1
  record "${tick[@]}" -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  for name in one two three; do tell $name "work 10"; done
  stop_whole "${pid_of[two]}" "${pid_of[three]}"
  tell one "work 20"
  stop
  kill -CONT "${pid_of[two]}" "${pid_of[three]}"
  same "silent" "0 30 10 10" "$status $(events one) $(events two) $(events three)"
  for name in one two three; do tell $name "work 1"; done
  wait_for 20 eval "\"$patchbay\" detach ${pid_of[two]}" || true
  "$patchbay" detach "${pid_of[three]}" 2>/dev/null
  "$patchbay" clean >/dev/null 2>&1
  nothing_left silent
  end_all
fi

if begin quickly; then
  # Ctrl-C while members are set up: nothing is said that is not so, and what was recorded stays.
  args=()
  for n in 1 2 3 4 5 6; do
    new "q$n"
    args+=(-p "${pid_of[q$n]}")
  done
  "$patchbay" record -o many.dat "${tick[@]}" "${args[@]}" 2>record.err &
  recorder=$!
  started $recorder
  wait_for 60 eval "ls many.dat.*.part" || fail "nobody is recorded"
  stop
  same "quickly: nobody is accused" "" \
    "$(grep -E "none of the processes|no process has '|not recorded" record.err)"
  nothing_left quickly
  end_all
fi

if begin graph; then
  new one; new two
  record -t function_graph -l tick -p "${pid_of[one]},${pid_of[two]}"
  tell one "work 21"; tell two "work 22"
  stop
  same "graph: status" 0 $status
  same "graph: each call, a leaf, is a line" 43 \
    "$("$patchbay" report many.dat | grep -c 'tick();')"
  nothing_left graph
  end_all
fi

if begin races; then
  # Members end at any moment; the recording always comes to its end, and nothing is left.
  for round in $(seq "${RECORD_MANY_ROUNDS:-15}"); do
    args=()
    for n in 1 2 3 4; do
      "$programs/steady" 100 >/dev/null 2>&1 &
      pids[n]=$!
      started $!
      disown $!
      args+=(-p $!)
    done
    "$patchbay" record -q -e 'work(long n)' "${args[@]}" -o races.dat 2>record.err &
    recorder=$!
    for n in 1 2 3 4; do
      sleep 0.$((RANDOM % 30 + 10))
      kill -9 "${pids[n]}"
    done
    ended
    # All may have been killed before they were set up.
    if ((status != 0)); then
      has "races: round $round: why" "$said" 'process(es)? (can|was|has)|there is no such process'
    fi
  done
  nothing_left races
fi

if begin told; then
  # By a signal at any moment, also while members are set up.
  args=()
  for n in $(seq 8); do
    new "t$n"
    args+=(-p "${pid_of[t$n]}")
  done
  for pause in 0 0.02 0.05 0.1 0.2 0.4 0.7; do
    "$patchbay" record "${tick[@]}" "${args[@]}" -o told.dat 2>record.err &
    recorder=$!
    sleep $pause
    kill -TERM $recorder
    ended
    # On a busy machine it has not begun yet, and said nothing.
    check "told after $pause: it comes to its end by itself" test $status -lt 128 -o ! -s record.err
    nothing_left "told after $pause"
  done
  end_all
fi

# --- control groups

group=$(make_group "patchbay-test-$$")
leave_group() {
  local folder
  [[ $group ]] || return 0
  for folder in "$group/below" "$group"; do [[ -e $folder ]] && remove_group "$folder"; done
}
trap 'leave_group; cleanup' EXIT
# in_group NAME [SUBGROUP]
in_group() { echo "${pid_of[$1]}" >"$group/${2:+$2/}cgroup.procs"; }
if [[ ! $group ]]; then
  echo "SKIPPED: record_many.sh: no control group can be made here: --cgroup was not tested"
elif begin cgroup; then
  mkdir "$group/below"
  new one; new two; new three
  in_group one; in_group two below
  record "${tick[@]}" --cgroup "$group"
  tell one "work 100"; tell two "work 200"; tell three "work 999"
  in_group three
  joined() { [[ $(ls "$PATCHBAY_DIR/${pid_of[three]}/instances" 2>/dev/null) ]]; }
  wait_for 30 joined || fail "the third is not recorded"
  wait_for 30 eval "ls many.dat.${pid_of[three]}-2.*.part" || fail "the third has no part"
  is_set_up "${pid_of[three]}" || fail "the third is not set up"
  tell three "work 300"
  # One that leaves the group for a while is recorded on, and once.
  echo "${pid_of[two]}" >"${group%/*}/cgroup.procs"
  sleep 3
  in_group two below
  tell two "work 7"
  sleep 3
  tell two "work 8"
  # A child of a member is in the group, and records with it.
  mkfifo one/child.in
  tell one "fork child"
  wait_for 20 grep -q ready one/child.out
  child=$(awk '$1 == "ready" { print $2 }' one/child.out)
  started "$child"
  sleep 0.3
  tell one "work 50" child
  kill -9 "${pid_of[two]}"
  stop
  same "cgroup" "0 100 215 300 50" \
    "$status $(events one) $(events two) $(events three) $(events "$child")"
  has "cgroup: three are in the file" "$said" '3 processes are in the file: forks \(3\)'
  nothing_left cgroup
  kill -9 "$child"
  # What nobody had is an error at the end, and the file stays.
  record "${tick[@]}" -e 'typo(int n)' --cgroup "$group"
  has "a function that is waited for" "$(cat record.err)" "no process has 'typo.*waited for"
  tell one "work 33"
  stop
  same "nobody had it: status, and the file" "1 33" "$status $(events one)"
  has "nobody had it: it is said" "$said" "no process has 'typo\(int n\)'"
  same "nobody had it: it is said once" 1 "$(grep -c "no process has 'typo(int n)':$" record.err)"
  nothing_left "nobody had it"
  # A member executes another program, which is recorded as well.
  mkfifo go2
  bash -c 'read -r line; exec "$0" 1000' "$programs/steady" <>go2 &
  shell=$!
  disown $shell
  started "$shell"
  echo "$shell" >"$group/cgroup.procs"
  record "${tick[@]}" -e 'read(int fd)' -e 'work(long n)' --cgroup "$group"
  echo >go2
  wait_for 20 eval "[[ \$(readlink /proc/$shell/exe) == */steady ]]"
  wait_for 30 eval "[[ \$(ls many.dat.$shell-*.part | wc -l) -ge 2 ]]" ||
    fail "the program is not recorded"
  sleep 0.5
  tell one "work 5"
  stop
  same "cgroup, exec" "0 5" "$status $(events one)"
  has "the program that was executed is recorded" \
    "$("$patchbay" report --exe steady many.dat)" "steady-$shell .*work\(n="
  kill -9 "$shell"
  nothing_left "cgroup, exec"
  end_all
  # Empty: it waits. Removed: it ends.
  wait_for 20 eval "[[ ! \$(cat $group/cgroup.procs) ]]"
  record "${tick[@]}" --cgroup "$group"
  has "an empty group" "$(cat record.err)" "no process is in the control group $group: waiting"
  new one
  in_group one
  wait_for 30 eval "ls many.dat.*.part" || fail "who comes to the empty group is not recorded"
  sleep 0.5
  tell one "work 44"
  kill -9 "${pid_of[one]}"
  wait_for 20 eval "[[ ! \$(cat $group/cgroup.procs) ]]"
  wait_for 20 rmdir "$group/below"
  wait_for 20 rmdir "$group"
  ended
  same "the group is removed" "0 44" "$status $(events one)"
  nothing_left "the group is removed"
  said=$("$patchbay" record "${tick[@]}" --cgroup "$group" -o none.dat 2>&1)
  same "no such group" 1 $?
  has "… which is said" "$said" "there is no control group $group"
  said=$("$patchbay" record "${tick[@]}" --service no-such-service-of-ours -o none.dat 2>&1)
  same "no such service" 1 $?
  # That would be whoever has started this test, too.
  said=$(timeout 20 "$patchbay" record "${tick[@]}" --container $$ -o none.dat 2>&1)
  same "where we run ourselves" 1 $?
  has "… is no container" "$said" "no container of its own|root"
  end_all
fi
finish
