#!/bin/bash
# SPDX-License-Identifier: MIT
# The stand-in kernel plays the kernel for a tree of processes: what they did stands in the trace
# before they go on, in their names, each thing once. $1: the build.
# shellcheck disable=SC2016 # what stands in '' is for the followed shell or the tree
. "$(dirname "$0")/common.bash"
# shellcheck source=mounted.bash
. "$(dirname "$0")/mounted.bash"
need_mount
need setsid nice
standin_program=$build/tests/standin/standin socket=$work/follow

start_standin --rate=0 --follow "$socket" || finish
followed() { "$standin_program" --attach "$socket" -- "$@"; }
cd "$mounted" || exit 1
# Runs a command with these events on; $trace are the lines that are recorded, without the heads.
traced() { # "EVENT…" COMMAND…
  local events=$1 event
  shift
  echo 0 >events/enable
  echo >trace
  for event in $events; do echo 1 >"events/$event/enable"; done
  followed "$@" 2>/dev/null
  status=$?
  echo 0 >events/enable
  trace=$(grep -v '^#' trace)
}
# How many lines match; in the name of whom the line stands comes first in it.
lines() { grep -cE -- "$1" <<<"$trace"; }

# --- one shell, one fork, no program
echo 1 >events/sched/sched_process_fork/enable
found=$(followed sh -c '(exit 3); a=$?; grep -c "sched_process_fork.* pid=$$ " trace; exit $a')
same "the exit status is the command's" 3 $?
# sh forks for ( ) and for grep; by the time grep reads, both are in the trace.
same "a fork is in the trace before the shell goes on" 2 "$found"

# --- a life: fork, program, end, in this order and in the right names
traced "sched/sched_process_fork sched/sched_process_exec sched/sched_process_exit task" \
  bash -c '/bin/true; exit 7'
same "the status of a followed command" 7 "$status"
shell=$(sed -nE 's/.*sched_process_exec: filename=[^ ]*bash pid=([0-9]+).*/\1/p' <<<"$trace")
child=$(sed -nE 's/.*sched_process_fork: .* child_pid=([0-9]+)$/\1/p' <<<"$trace")
life=$(sed -nE "s/^ *(.*)-(${shell:-x}|${child:-x}) .*: ([a-z_]+): (.*)/\1 \2 \3 \4/p" <<<"$trace" |
  sed -e "s/\b$shell\b/SHELL/g" -e "s/\b$child\b/CHILD/g" | grep -v task_newtask |
  cut -d ' ' -f 2-5)
same "a life in its order" "SHELL task_rename pid=SHELL oldcomm=standin
SHELL sched_process_exec filename=$(command -v bash) pid=SHELL
SHELL sched_process_fork comm=bash pid=SHELL
CHILD task_rename pid=CHILD oldcomm=bash
CHILD sched_process_exec filename=/bin/true pid=CHILD
CHILD sched_process_exit comm=true pid=CHILD
SHELL sched_process_exit comm=bash pid=SHELL" "$life"

# --- many: each exactly once
traced "sched/sched_process_fork sched/sched_process_exit sched/sched_process_free" \
  sh -c 'i=0; while [ $i -lt 150 ]; do (:) & (:); i=$((i + 1)); done; wait'
same "every fork" 300 "$(lines sched_process_fork)"
same "every end" 301 "$(lines sched_process_exit)"
# A task is gone only after its parent has been told: of the last one nobody has to know yet.
check "every one that is gone" test "$(lines sched_process_free)" -ge 300
same "nobody forks twice" "" \
  "$(sed -nE 's/.*child_pid=([0-9]+)$/\1/p' <<<"$trace" | sort | uniq -d)"

# --- system calls: paths can be read, results are true
echo 'e:opened syscalls/sys_enter_openat file=+0($filename):ustring' >>dynamic_events
traced "eprobes/opened raw_syscalls" \
  sh -c 'cat /etc/hostname /nowhere/at/all; cd /usr; echo >/dev/null' >/dev/null
for path in /etc/hostname /nowhere/at/all /dev/null; do
  check "an open of $path" grep -qF "file=\"$path\"" <<<"$trace"
done
same "no path that cannot be read" 0 "$(lines '\(fault\)')"
check "an open that fails: ENOENT" grep -qE '^ *cat-.*sys_exit: NR 257 = -2$' <<<"$trace"
# A call that ends its caller has no end, exec has one in its own process.
for nr in 1 3 59 257; do
  same "system call $nr: as many ends as begins" "$(lines "sys_enter: NR $nr ")" \
    "$(lines "sys_exit: NR $nr ")"
done
echo '-:opened' >>dynamic_events

# --- functions, with the value that they return
echo 'r:written proc_reg_write $retval:s32' >>kprobe_events
echo 'p:made eventfs_create_dir name=+0($arg1):string' >>kprobe_events
traced kprobes bash -c \
  'echo >/proc/interrupts; echo "p:mine/later kernel_clone" >>kprobe_events'
check "proc_reg_write returns what write() did" grep -q 'written: .*arg1=-5$' <<<"$trace"
check "a directory is made by the write that wants it" grep -q 'made: .*name="later"$' <<<"$trace"
echo >kprobe_events

# --- the scheduler
traced "sched/sched_switch sched/sched_waking sched/sched_wakeup" \
  sh -c 'sleep 0.05; nice -n 1 sleep 0.05'
prio=$((120 + $(nice)))
check "who waits goes to sleep" grep -qE \
  "^ *sleep-.*prev_comm=sleep .*prev_prio=$prio prev_state=S ==> next_comm=swapper" <<<"$trace"
check "and is woken up" grep -qE "sched_waking: comm=sleep pid=[0-9]+ prio=$prio " <<<"$trace"
check "with its priority" \
  grep -qE "sched_waking: comm=sleep pid=[0-9]+ prio=$((prio + 1)) " <<<"$trace"
same "who is woken up runs" "$(lines sched_wakeup:)" \
  "$(lines 'prev_comm=swapper/[0-9]+ prev_pid=0 .* prev_state=R ==>')"
same "one processor" 1 "$(grep -oE '\[[0-9]{3}\]' <<<"$trace" | sort -u | grep -c .)"

# --- signals, stops
traced "signal sched/sched_process_exit" sh -c 'sleep 100 & kill -TERM $!; wait $!; [ $? = 143 ]'
same "who is killed dies of it" 0 "$status"
check "a signal is sent" grep -qE '^ *sh-.*signal_generate: sig=15 .*grp=1 res=0' <<<"$trace"
check "and comes" grep -qE '^ *s(h|leep)-.*signal_deliver: sig=15 ' <<<"$trace"
check "the parent is told" grep -qE 'signal_generate: sig=17 errno=0 code=2 comm=sh ' <<<"$trace"
traced "sched/sched_process_exit" sh -c 'sleep 100 & kill -KILL $!; wait $!; [ $? = 137 ]'
same "also where no signal can be seen" 0 "$status"
same "that is an end too" 2 "$(lines sched_process_exit)"
stop_and_go='sleep 0.2 & kill -STOP $!
  until read -r _ _ state _ </proc/$!/stat && [[ $state = [Tt] ]]; do sleep 0.01; done
  kill -CONT $!; wait $!'
followed timeout 60 bash -c "$stop_and_go"
same "who is stopped stands still and goes on" 0 $?

# --- while everything is traced, again and again
toggle() {
  local i
  for ((i = 0; i < 15; i++)); do
    echo function_graph >current_tracer
    echo 1 >events/enable
    echo nop >current_tracer
    echo 0 >events/enable
  done
}
toggle &
toggler=$!
started $toggler
timeout 100 "$standin_program" --attach "$socket" -- \
  sh -c 'i=0; while [ $i -lt 100 ]; do (:); /bin/true; i=$((i + 1)); done'
same "nobody waits for the other" 0 $?
wait $toggler

# --- the stand-in goes, and who it follows with it
"$standin_program" --attach "$work/nobody" -- true 2>/dev/null
same "nobody listens" 125 $?
followed "$work/no-such-program" 2>/dev/null
same "no such program" 127 $?
cd / || exit 1
followed sleep 100 2>/dev/null &
orphan=$!
started $orphan
wait_for 10 grep -q sleep /proc/$orphan/comm
stop_standin
wait $orphan 2>/dev/null
same "it does not go on alone" 137 $?
finish
