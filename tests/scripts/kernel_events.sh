#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# record -k: the kernel's events stand beside the program's on one time line, in order; only those
# of the tasks that are traced; and the kernel's tracefs is as it was afterwards, also when the tool
# was killed.
. "$(dirname "$0")/common.bash"
cc=${CC:-cc}
command -v "$cc" >/dev/null || skip "there is no compiler"
[[ $(id -u) == 0 ]] || skip "kernel events need root"
mkdir "$work/tracefs"
mount -t tracefs none "$work/tracefs" 2>/dev/null || skip "tracefs cannot be mounted here"
trap 'umount "$work/tracefs"; cleanup' EXIT
tracefs=$work/tracefs
[[ -e $tracefs/events/sched/sched_switch ]] || skip "this kernel has no sched:sched_switch"
cd "$work" || exit 1

# It calls work(), writes a marker into the instance of the tool that has started it, and so on.
# That instance is named after the tool, which is its parent.
cat >marks.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static int marker, rounds;
NOINLINE int work(int n) {
  __asm__ volatile("" ::"r"(n) : "memory");
  return n + 1;
}
static void *run(void *argument) {
  char text[32];
  for (int i = 0; i < rounds; i++) {
    work(2 * i);
    int size = snprintf(text, sizeof text, "mark %d", 2 * i + 1);
    if (marker >= 0 && write(marker, text, (size_t)size) != size) _exit(9);
  }
  return argument;
}
int main(int argc, char **argv) {
  pthread_t threads[2];
  char go, path[400];
  rounds = atoi(argv[1]);
  snprintf(path, sizeof path, "%s/instances/patchbay_%d/trace_marker", argv[argc - 1], getppid());
  marker = argc > 2 && argv[2][0] == '/' ? open(path, O_WRONLY) : -1;
  if (argc > 2 && argv[2][0] == '/' && marker < 0) return 8;
  if (argc > 2 && !strcmp(argv[2], "wait") &&
      (write(1, "ready\n", 6) != 6 || read(0, &go, 1) < 0))
    return 9;
  if (argc > 2 && !strcmp(argv[2], "fork")) {
    if (!fork()) {
      usleep(1000);
      _exit(0);
    }
    wait(0);
  }
  usleep(1000);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 3;
}
END
"$cc" -O1 -g marks.c -o marks -lpthread || fail "marks.c does not compile"
record=("$patchbay" record -o out.dat)
lines() { "$patchbay" report -i "${1:-out.dat}"; }
nothing_left() {
  local name
  for name in "$tracefs"/instances/patchbay_*; do
    [[ -d $name && ! -e /proc/${name##*_} ]] || continue # another test's, which runs beside
    flock -n "$name" true && fail "$1: the instance $name is left"
  done
}
# in_order : of each thread the numbers of calls and markers, in turn, 0 1 2 3 …
in_order() {
  awk '{ thread = $1; n = -1 }
    match($0, /work\(n=[0-9]+\)/) { n = substr($0, RSTART + 7, RLENGTH - 8) }
    match($0, /: mark [0-9]+/) { n = substr($0, RSTART + 7, RLENGTH - 7) }
    n < 0 { next }
    n != next_of[thread] + 0 { wrong++ }
    { next_of[thread] = n + 1; all++ }
    END { print all + 0, wrong + 0 }'
}
# exported : lines of jsonl as those that in_order reads.
exported() {
  local name='"event":"(work|print)","fields":\{.*"(n":|text":"[^"]*: mark )([0-9]+)'
  sed -nE "s/.*\"tid\":([0-9]+).*$name.*/\\1 work(n=\\4)/p"
}

# --- order
for format in 7 6; do
  rounds=$((format == 7 ? 10000 : 2000))
  out=$("${record[@]}" --format $format -b 32M -e 'work(int n)' -k sched:sched_switch \
    -- ./marks $rounds "$tracefs" 2>&1)
  same "version $format: the program's exit status" 3 $?
  has "version $format: nothing is lost" "$out" "events, .*; lost 0 \("
  has "version $format: the kernel's part" "$out" "are the kernel's: .*print $((2 * rounds))"
  same "version $format: calls and markers in turn" "$((4 * rounds)) 0" "$(lines | in_order)"
  same "version $format: export has them in turn" "$((4 * rounds)) 0" \
    "$("$patchbay" export --to jsonl -i out.dat -o - 2>/dev/null | exported | in_order)"
done
has "sched_switch as text" "$(lines)" \
  'sched_switch: prev_comm=[^ ]* prev_pid=[0-9]+ prev_prio=[0-9]+ prev_state=[^ ]* ==> next_comm='
same "--json has both" 2 "$("$patchbay" report --json -i out.dat |
  sed -nE 's/.*"event":"([a-z:_]*)".*/\1/p' | sort -u | grep -cE 'work$|sched_switch$')"
nothing_left "order"
if command -v trace-cmd >/dev/null; then
  kinds='sched_switch:|->work(\+0x0)?\(n=|: mark [0-9]'
  same "trace-cmd has the same numbers of events" "$(lines | grep -cE -- "$kinds")" \
    "$(trace-cmd report -i out.dat 2>/dev/null | grep -cE -- "$kinds")"
else
  echo "kernel_events.sh: trace-cmd is not installed: its reading is SKIPPED"
fi

# --- whose events
# strangers FILE : switches in which no thread of ours comes or goes. Forked children have an
# agent's thread.
strangers() { lines "$1" | grep sched_switch: | grep -vcE "(prev|next)_comm=(marks|patchbay) "; }
"${record[@]}" -q -k 'sched:sched_switch' -k 'sched_process_*' -- ./marks 10 fork
same "-k alone: the exit status" 3 $?
check "-k alone: switches" test "$(lines | grep -c sched_switch:)" -gt 0
same "of our threads only" 0 "$(strangers out.dat)"
has "a forked child is recorded" "$(lines)" 'sched_process_exit: .*comm=marks'
has "a glob" "$(lines)" 'sched_process_fork: .*child_comm=marks'
"${record[@]}" -q --all-tasks -k sched_process_exec -k sched_process_exit -- \
  env PATH="$PATH" setsid -w true
check "--all-tasks" test "$(lines | grep -c 'sched_process_exit:')" -gt 0

mkfifo in
# start_waiting ARG… : it waits for a byte of descriptor 3. Sets pid.
start_waiting() {
  ./marks "$@" wait <in >ready &
  pid=$!
  started $pid
  exec 3>in
  wait_for 60 grep -q ready ready || fail "marks does not wait"
}
# is_on INSTANCE : somebody is recorded in it.
is_on() { grep -q . "$1/set_event_pid" && grep -q 1 "$1/tracing_on"; }
# start_recorder ARG… : sets tool; returns when it records.
start_recorder() {
  "$patchbay" record -o live.dat "$@" 2>live.err &
  tool=$!
  started $tool
  wait_for 60 is_on "$tracefs/instances/patchbay_$tool" ||
    fail "the recorder does not record: $(cat live.err)"
}
start_waiting 50
start_recorder -p $pid -e 'work(int n)' -k sched:sched_switch -f 'prev_pid > 0'
echo >&3
wait $pid
same "record -p: the program never knew" 3 $?
wait $tool
same "record -p: its status" 0 $?
same "record -p: its calls" 100 "$(lines live.dat | grep -c 'work(n=')"
check "record -p: its switches" test "$(lines live.dat | grep -c sched_switch:)" -gt 0
same "record -p: of its threads only" 0 "$(strangers live.dat)"
same "the kernel's filter" 0 "$(lines live.dat | grep -c ' prev_pid=0 ')"
nothing_left "record -p"

# --- a tool that is killed
start_waiting 50
start_recorder -p $pid -e 'work(int n)' -k sched:sched_switch
kill -9 $tool
wait $tool 2>/dev/null
check "a killed tool leaves its instance" test -d "$tracefs/instances/patchbay_$tool"
has "clean -n names it" "$("$patchbay" clean -n)" "would remove patchbay_$tool of the kernel's"
check "clean -n leaves it" test -d "$tracefs/instances/patchbay_$tool"
has "clean removes it" "$("$patchbay" clean)" "removed patchbay_$tool of the kernel's"
check "it is gone" test ! -e "$tracefs/instances/patchbay_$tool"
start_recorder -p $pid -k sched:sched_switch
kill -9 $tool
wait $tool 2>/dev/null
"${record[@]}" -q -k sched:sched_switch -- true
check "the next recording removes it, too" test ! -e "$tracefs/instances/patchbay_$tool"
echo >&3
wait $pid
same "the program goes on" 3 $?

# --- refusals: a sentence, and the program does not run
# refused STATUS PATTERN ARG…
refused() {
  local status=$1 pattern=$2 out
  shift 2
  out=$("${record[@]}" "$@" -- touch ran 2>&1)
  same "refused ($*)" "$status" $?
  has "why ($*)" "$out" "$pattern"
  check "it does not run ($*)" test ! -e ran
}
refused 1 "'sched:sched_swich': the kernel has no such event; near it: sched:sched_switch" \
  -k sched:sched_swich
refused 1 "no such event; near it: .*sched_switch" -k shed_switch
refused 1 "sched:sched_switch is asked for twice, with different filters" \
  -k sched:sched_switch -f 'prev_pid == 1' -k sched_switch
refused 1 "'nosuch:\*': the kernel has no such event" -k 'nosuch:*'
refused 1 "the kernel refuses it for sched:sched_switch" -k sched:sched_switch -f 'nofield == 1'
refused 2 "--all-tasks is about -k" --all-tasks -e 'work(int n)'
refused 2 "-k takes an event" -k ''
if command -v setpriv >/dev/null; then
  chmod 755 .
  mkdir -m 777 others
  out=$(cd others && PATCHBAY_DIR=$work/others setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$patchbay" record -k sched:sched_switch -- true 2>&1)
  same "without rights: the status" 1 $?
  has "without rights: why" "$out" "kernel events need root, or a user who may write"
fi
nothing_left "at the end"
finish
