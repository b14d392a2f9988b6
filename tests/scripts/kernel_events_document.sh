#!/bin/bash
# SPDX-License-Identifier: MIT
# Documentation/trace/events.rst of the kernel, sections 2.1 to 5.5: each command as it is there,
# in order, in a shell inside the mount of the stand-in kernel, with the answers of the document.
# Where the document is older than kernels are (the fields of sched_wakeup, the caret at column 0)
# today's kernel is right. $1: the build.
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount

start_standin || finish
cd "$mounted" || exit 1
# enabled : set_event in the order of the alphabet.
enabled() { sort set_event; }
# refused SENTENCE FILE TEXT : writing is EINVAL, and bash says what the document says.
refused() {
  local said
  said=$( (echo "$3" >"$2") 2>&1)
  has "$1" "$said" 'write error: Invalid argument$'
}
# takes FILE TEXT : it is accepted and read back.
put() { echo "$2" >"$1"; }
takes() {
  check "$1 takes: $2" put "$1" "$2"
  same "$1 shows: $2" "$2" "$(cat "$1")"
}
# recorded SECONDS : what comes in that time, without the comment lines.
recorded() {
  echo >trace
  sleep "$1"
  grep -v '^#' trace
}

# --- 2.1 set_event
has "available_events names sched_wakeup" "$(cat available_events)" '^sched:sched_wakeup$'
echo sched_wakeup >>set_event
same "2.1 an event by name" "sched:sched_wakeup" "$(cat set_event)"
has "it is recorded" "$(recorded 0.2)" ': sched_wakeup: comm='
echo '!sched_wakeup' >>set_event
same "2.1 ! disables" "" "$(cat set_event)"
echo sched_wakeup >>set_event
echo >set_event
same "2.1 an empty line disables all" "" "$(cat set_event)"
# shellcheck disable=SC2035
echo *:* >set_event
same "2.1 *:* is every event" "$(sort available_events)" "$(enabled)"
echo *: >set_event
same "2.1 *: too" "$(sort available_events)" "$(enabled)"
echo 'irq:*' >set_event
same "2.1 a subsystem" "$(grep '^irq:' available_events | sort)" "$(enabled)"
echo sched_wakeup >set_event
same "2.1 without >> all others are disabled first" "sched:sched_wakeup" "$(cat set_event)"
echo >set_event

# --- 2.2 enable
echo 1 >events/sched/sched_wakeup/enable
same "2.2 one event" "1 sched:sched_wakeup" \
  "$(cat events/sched/sched_wakeup/enable set_event | xargs)"
same "2.2 X: a mixture" "X X" "$(cat events/sched/enable events/enable | xargs)"
echo 0 >events/sched/sched_wakeup/enable
same "2.2 off" "0 0 0" \
  "$(cat events/sched/sched_wakeup/enable events/sched/enable events/enable | xargs)"
echo 1 >events/sched/enable
same "2.2 all of sched" "$(grep '^sched:' available_events | sort)" "$(enabled)"
same "2.2 1: all that the file affects" "1 X" "$(cat events/sched/enable events/enable | xargs)"
echo 1 >events/enable
same "2.2 all events" "$(sort available_events)" "$(enabled)"
same "2.2 1 at the top" 1 "$(cat events/enable)"
echo 0 >events/enable
same "2.2 none" 0 "$(cat events/enable)"
LD_PRELOAD=$agent sleep 100 &
other=$!
started $other
wait_for 10 "$patchbay" cat $other events/enable
same "2.2 ?: a file that affects no event" '?' "$("$patchbay" cat $other events/enable)"
kill $other

# --- 2.3 at the start
cd / && stop_standin
export PATCHBAY_TRACE_EVENT=sched:sched_wakeup,irq
start_standin || finish
unset PATCHBAY_TRACE_EVENT
cd "$mounted" || exit 1
same "2.3 events that are on from the start" \
  "$(grep -e '^irq:' -e '^sched:sched_wakeup$' available_events | sort)" "$(enabled)"
echo >set_event

# --- 4 format
format=$(cat events/sched/sched_wakeup/format)
same "4 the name" "name: sched_wakeup" "$(head -n 1 <<<"$format")"
has "4 the id" "$format" '^ID: [0-9]+$'
tab=$'\t'
for field in 'unsigned short common_type;@0@2' 'unsigned char common_flags;@2@1' \
  'unsigned char common_preempt_count;@3@1' 'int common_pid;@4@4' 'char comm\[16\];@8@16' \
  'pid_t pid;@24@4' 'int prio;@28@4' 'int target_cpu;@32@4'; do
  IFS=@ read -r text offset size <<<"$field"
  has "4 field $text" "$format" "^${tab}field:$text${tab}offset:$offset;${tab}size:$size;"
done
has "4 the text" "$format" '^print fmt: "comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, '

# --- 5.1 expressions
filter=events/sched/sched_switch/filter
for operator in == != '<' '<=' '>' '>=' '&'; do takes $filter "prev_prio $operator 5"; done
for operator in == != '~'; do takes $filter "prev_comm $operator \"sh\""; done
for pattern in '*sh' 'sh*' '*sh*' 'ba*sh'; do takes $filter "prev_comm ~ \"$pattern\""; done
takes $filter 'prev_pid == 1 && (next_pid == 2 || prev_prio != 3)'
echo 1 >events/sched/sched_switch/enable
last_of() { grep -o 'prev_comm=[^ ]*' | sort -u | xargs; }
echo 'prev_comm ~ "*/0"' >$filter
same "5.1 *x: what ends so" "prev_comm=standin/0 prev_comm=worker/0" "$(recorded 0.3 | last_of)"
echo 'prev_comm ~ "stand*" && prev_comm ~ "*in*0"' >$filter
same "5.1 x* and *x*" "prev_comm=standin/0" "$(recorded 0.3 | last_of)"
echo 'prev_comm ~ "st?nd[a-i]n/[0]"' >$filter
same "5.1 ? and classes" "prev_comm=standin/0" "$(recorded 0.3 | last_of)"
echo 0 >events/sched/sched_switch/enable
takes events/syscalls/sys_enter_openat/filter 'filename.ustring ~ "password"'
echo 1 >events/syscalls/sys_enter_openat/enable
same "5.1 .ustring: no such text" "" "$(recorded 0.3)"
echo 'filename.ustring ~ "*passwd"' >events/syscalls/sys_enter_openat/filter
has "5.1 .ustring: the text of the caller" "$(recorded 0.3)" 'sys_enter_openat|sys_openat'
echo 0 >events/syscalls/sys_enter_openat/enable
takes events/kmem/kmem_cache_free/filter 'call_site.function == security_prepare_creds'
echo 1 >events/kmem/kmem_cache_free/enable
same "5.1 .function: no caller of that name" "" "$(recorded 0.3)"
echo 'call_site.function == putname' >events/kmem/kmem_cache_free/filter
callers=$(recorded 0.3 | grep -o 'call_site=[a-z_]*' | sort -u)
same "5.1 .function: one caller" "call_site=putname" "$callers"
echo 0 >events/kmem/kmem_cache_free/enable
filter=events/sched/sched_wakeup/filter
if [[ -d per_cpu/cpu42 ]]; then
  takes $filter 'target_cpu & CPUS{17-42}'
else
  refused "5.1 processors that there are not" $filter 'target_cpu & CPUS{17-42}'
  has "5.1 the reason" "$(cat $filter)" "^parse_error: Invalid cpulist$"
fi
for operator in '&' == !=; do takes $filter "target_cpu $operator CPUS{0}"; done
echo 0 >$filter

# --- 5.2 setting filters
cd "$mounted/events/sched/sched_wakeup" || exit 1
echo "common_preempt_count > 4" >filter
same "5.2 as written" "common_preempt_count > 4" "$(cat filter)"
echo 0 >filter
cd "$mounted/events/signal/signal_generate" || exit 1
check "5.2 a word without quotes" put filter \
  "((sig >= 10 && sig < 15) || sig == 17) && comm != bash"
same "5.2 read back" "((sig >= 10 && sig < 15) || sig == 17) && comm != bash" "$(cat filter)"
refused "5.2 an unknown field" filter "((sig >= 10 && sig < 15) || dsig == 17) && comm != bash"
same "5.2 the text first" "((sig >= 10 && sig < 15) || dsig == 17) && comm != bash" \
  "$(head -n 1 filter)"
has "5.2 a caret" "$(sed -n 2p filter)" '^ *\^$'
same "5.2 the reason" "parse_error: Field not found" "$(sed -n 3p filter)"

# --- 5.3 clearing
echo 0 >filter
same "5.3 0 clears" none "$(cat filter)"

# --- 5.4 subsystem filters
cd "$mounted/events/sched" || exit 1
echo 0 >filter
same "5.4 all are clear" "none none" "$(cat sched_switch/filter sched_wakeup/filter | xargs)"
echo common_pid == 0 >filter
same "5.4 a common field: sched_switch" "common_pid == 0" "$(cat sched_switch/filter)"
same "5.4 a common field: sched_wakeup" "common_pid == 0" "$(cat sched_wakeup/filter)"
echo prev_pid == 0 >filter
same "5.4 another field: who has it" "prev_pid == 0" "$(cat sched_switch/filter)"
same "5.4 another field: who has it not keeps its own" "common_pid == 0" \
  "$(cat sched_wakeup/filter)"
echo 0 >filter

# --- 5.5 pids
cd "$mounted" || exit 1
echo $$ >set_event_pid
same "5.5 one" $$ "$(cat set_event_pid)"
echo 1 >events/enable
same "5.5 no other task is recorded" "" "$(recorded 0.3)"
echo 123 244 1 >>set_event_pid
same "5.5 >> adds" "$(printf '%s\n' 1 123 244 $$ | sort -n)" "$(cat set_event_pid)"
task=$(ls /proc/$standin/task | tail -n 1)
echo "$task" >set_event_pid
pids=$(recorded 1 | grep -v -e sched_switch -e sched_wak |
  sed -E 's/^ *[^ ]+-([0-9]+) +\[.*/\1/' | sort -u)
same "5.5 only the listed task" "$task" "$pids"
echo 0 >events/enable
echo >set_event_pid
cd / || exit 1
stop_standin
finish
