#!/bin/bash
# SPDX-License-Identifier: MIT
# Documentation/trace/events.rst of the kernel, section 6: each command on triggers as it stands
# there, in order, in a shell inside the mount of the stand-in kernel. The stand-in has no block
# device: sched_waking and its pid stand for what has to be hit. $1: the build.
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount

start_standin || finish
cd "$mounted" || exit 1
put() { echo "$2" >"$1"; }
# takes FILE TEXT : it is accepted. shows FILE TEXT : what is read back.
takes() { check "$1 takes: $2" put "$1" "$2" 2>/dev/null; }
refuses() {
  local said
  said=$( (echo "$2" >"$1") 2>&1)
  has "$1 refuses: $2" "$said" "write error: $3\$"
}
shows() { same "$1 shows it" "$2" "$(grep -v '^#' "$1")"; }
now() { [[ $(cat "$1") == "$2" ]]; }
becomes() { check "$1 becomes $2" wait_for 10 now "$1" "$2"; }
recording() { echo 1 >tracing_on; }

# --- 6.1 syntax, and 6.2 enable_event and disable_event
read=events/syscalls/sys_enter_read/trigger
left=events/raw_syscalls/sys_exit/trigger # of read: the stand-in has no sys_exit_read
kmalloc=events/kmem/kmalloc waking=events/sched/sched_waking
same "none at first" "" "$(grep -v '^#' $read)"
takes $read 'enable_event:kmem:kmalloc:1'
shows $read 'enable_event:kmem:kmalloc:count=1'
takes $left 'disable_event:kmem:kmalloc'
shows $left 'disable_event:kmem:kmalloc:unlimited'
has "its tracepoint is called and soft-disabled" "$(cat $kmalloc/enable)" '^[01]\*$'
has "as are those of the triggers" "$(cat events/syscalls/sys_enter_read/enable)" '^0\*$'
refuses $read 'enable_event:kmem:kmalloc' 'File exists'
refuses $read 'enable_event:kmem:kmalloc if count == 256' 'File exists'
takes $read 'enable_event:sched:sched_switch'
takes $read '!enable_event:sched:sched_switch'
takes $read '!enable_event:kmem:kmalloc:1'
takes $left '!disable_event:kmem:kmalloc'
shows $read ''
shows $left ''
has "kmalloc is left alone" "$(cat $kmalloc/enable)" '^[01]$'
echo 0 >$kmalloc/enable

# --- stacktrace
echo >trace
takes $waking/trigger 'stacktrace'
shows $waking/trigger 'stacktrace:unlimited'
has_stacks() { (($(grep -c '<stack trace>' trace) >= $1)); }
check "a stack each time" wait_for 10 has_stacks 3
refuses $waking/trigger 'stacktrace:5' 'File exists'
takes $waking/trigger '!stacktrace'
echo >trace
takes $waking/trigger 'stacktrace:5 if pid >= 2'
used_up() { grep -q '^stacktrace:count=0 if pid >= 2$' $waking/trigger; }
check "five times" wait_for 20 used_up
same "and no more" 5 "$(grep -c '<stack trace>' trace)"
takes $waking/trigger '!stacktrace:5 if pid >= 2'
shows $waking/trigger ''
takes $waking/trigger 'stacktrace:5 if pid >= 100000000'
shows $waking/trigger 'stacktrace:count=5 if pid >= 100000000'
takes $waking/trigger '!stacktrace:5'
shows $waking/trigger ''

# --- snapshot
echo 1 >events/sched/sched_switch/enable
traced() { grep -q 'sched_switch' trace; }  # the one snapshot takes what is there then
check "switches are traced" wait_for 20 traced
takes $waking/trigger 'snapshot:1 if pid > 1'
taken() { grep -q 'sched_switch' snapshot; }
check "the snapshot has what was traced" wait_for 20 taken
shows $waking/trigger 'snapshot:count=0 if pid > 1'
takes $waking/trigger '!snapshot:1 if pid > 1'
takes $waking/trigger 'snapshot if pid > 100000000'
shows $waking/trigger 'snapshot:unlimited if pid > 100000000'
refuses $waking/trigger 'snapshot' 'File exists'
takes $waking/trigger '!snapshot if pid > 100000000'
shows $waking/trigger ''
echo 0 >events/sched/sched_switch/enable

# --- traceon and traceoff
recording
takes $waking/trigger 'traceoff:1 if pid > 1'
becomes tracing_on 0
shows $waking/trigger 'traceoff:count=0 if pid > 1'
recording
sleep 0.3
same "once" 1 "$(cat tracing_on)"
refuses $waking/trigger 'traceon' 'File exists'
takes $waking/trigger '!traceoff:1 if pid > 1'
takes $waking/trigger 'traceoff if pid > 1'
for _ in 1 2; do
  recording
  becomes tracing_on 0
done
takes $waking/trigger '!traceoff if pid > 1'
shows $waking/trigger ''
recording

# --- 6: writes into trace_marker
takes events/ftrace/print/trigger 'traceoff if buf ~ "*stop*"'
echo 'go on' >trace_marker
same "another marker" 1 "$(cat tracing_on)"
echo 'stop here' >trace_marker
same "this one" 0 "$(cat tracing_on)"
takes events/ftrace/print/trigger '!traceoff'
recording
cd /
stop_standin
finish
