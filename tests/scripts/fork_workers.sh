#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The workers of a server, forked before anybody asked for anything, follow what its tree is told:
# what is switched on is recorded in all of them, what is switched off in none, with exact counts.
#   fork_workers.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
# shellcheck source=mounted.bash
. "$(dirname "$0")/mounted.bash"

start_driven fork_workers

ask() { echo "$*" >&3 && read -r -t 60 -u 4 answer || fail "the server does not answer to $*"; }
call() { # N: in all workers
  ask "call $1"
  same "all workers are right" "done $workers" "$answer"
}
rd() { "$patchbay" cat $pid "$1"; }
put() { check "$2 >>$1" "$patchbay" write $pid "$1" "$2"; }
new() { check "$2 >$1" "$patchbay" write --truncate $pid "$1" "$2"; } # put is >>
clear_trace() { "$patchbay" write --truncate $pid trace ''; }
events() { rd "${1:-}trace" | grep -vc '^#'; }           # [INSTANCE/]
with() { rd "${2:-}trace" | grep -v '^#' | grep -cE -- "$1"; } # REGEX [INSTANCE/]
tasks() { rd trace | grep -v '^#' | awk '{ print $1 }' | sort -u | wc -l; }
# As many children follow as there are workers: a new one does a moment after its birth.
all_follow() { rd debug/counters | grep -qx "forked children that follow: $workers"; }
none_stopped() {
  same "no child has stopped" 0 "$(rd debug/counters | sed -n 's/.*stopped recording: //p')"
}

workers=4
ask pids
wait_for 20 all_follow || fail "not all children follow: $(rd debug/counters)"

# --- events that are defined, switched on and off after the fork
put function_events 'work(int n)'
put events/functions/work/enable 1
call 1000
same "every call of every worker" 4000 "$(events)"
same "each in its name" 4 "$(tasks)"
put events/functions/work/enable 0
clear_trace
call 1000
same "nothing when it is off" 0 "$(events)"
put events/functions/work/enable 1
call 10
put events/functions/work/enable 0
put function_events '!work'
call 1000
same "nothing unknown when it is gone" "0 40" "$(with 'Unknown type') $(with 'work\(')"
clear_trace

# --- another definition of the name has another number, the same in all
put function_events 'work(x32 n)'
put events/functions/work/enable 1
call 10
same "the new one's records" "40 4" "$(events) $(with 'n=9\)')"
put events/functions/work/enable 0
clear_trace

# --- filters, lists of threads
put events/functions/work/filter 'n >= 900'
put events/functions/work/enable 1
call 1000
same "a filter" 400 "$(events)"
put events/functions/work/filter 'n < 10'
clear_trace
call 1000
same "another one" 40 "$(events)"
put events/functions/work/filter 0
ask pids
new set_event_pid "${answer%% *}"
clear_trace
call 1000
same "one thread" "1000 1" "$(events) $(tasks)"
new set_event_pid ''
put events/functions/work/enable 0
clear_trace

# --- probes
put kprobe_events 'p:mine/entry work n=$arg1:s32'
put kprobe_events 'r:mine/back work r=$retval:s32'
for at in 1 2 3 4 5 6; do # where its second instruction begins
  "$patchbay" write $pid kprobe_events "p:mine/inside helper+$at" 2>"$work/refused" && break
done
put events/mine/enable 1
call 100
same "entries, returns, places inside" "400 400 400" \
  "$(with ' entry: ') $(with ' back: ') $(with ' inside: ')"
same "values" "4 4" "$(with 'n=99$') $(with 'r=99$')"
same "counted exactly" "400 400 400" \
  "$(rd kprobe_profile | awk '{ printf "%s ", $2 }' | sed 's/ $//')"
put events/mine/enable 0
call 100
same "not counted when they are off" "400 400 400" \
  "$(rd kprobe_profile | awk '{ printf "%s ", $2 }' | sed 's/ $//')"
new kprobe_events ''
clear_trace

# --- triggers: the words that hits switch are one for all
put events/functions/work/trigger 'traceoff:1 if n == 5'
put events/functions/work/enable 1
ask pids
new set_event_pid "${answer%% *}"
call 100
same "switched off by the hit" "0 6" "$(rd tracing_on) $(events)"
put tracing_on 1
new set_event_pid ''
put events/functions/work/trigger '!traceoff'
clear_trace
call 100
same "the trigger is gone" "1 400" "$(rd tracing_on) $(events)"
put events/functions/work/enable 0
clear_trace

# --- histograms: one table for all
put events/functions/work/trigger 'hist:keys=n.buckets=50:vals=hitcount'
call 100
hist() {
  rd events/functions/work/hist | sed -n 's/^{.*hitcount: *\([0-9]*\).*/\1/p' | tr '\n' ' '
}
same "a histogram over all workers" "200 200 " "$(hist)"
put events/functions/work/trigger 'hist:keys=n.buckets=50:vals=hitcount:pause'
call 100
same "paused" "200 200 " "$(hist)"
put events/functions/work/trigger 'hist:keys=n.buckets=50:vals=hitcount:cont'
call 100
same "and on" "400 400 " "$(hist)"
put events/functions/work/trigger 'hist:keys=n.buckets=50:vals=hitcount:clear'
call 100
same "cleared once" "200 200 " "$(hist)"
put events/functions/work/trigger '!hist:keys=n.buckets=50:vals=hitcount'

# --- tracers and their filters
new set_ftrace_filter 'work helper'
put current_tracer function
call 100
same "the function tracer" "400 400" "$(with ': work <-') $(with ': helper <-work')"
new set_ftrace_filter 'helper'
clear_trace
call 100
same "its filter" "0 400" "$(with ': work <-') $(with ': helper <-work')"
new set_ftrace_filter 'work helper'
put current_tracer function_graph
call 100
same "function_graph" "400 400" "$(with 'work\(\) \{$') $(with 'helper\(\)(;| \{)$')"
put current_tracer nop
clear_trace
call 100
same "no tracer" 0 "$(events)"
put function_profile_enabled 1
call 100
profiled() {
  cat <(rd trace_stat/function0) <(rd trace_stat/function1) |
    awk '$1 == "work" { n += $2 } END { print n }'
}
[[ $(nproc) != 2 ]] || same "the profiler" 400 "$(profiled)"
put function_profile_enabled 0
new set_ftrace_filter ''

# --- what stands on events: synthetic events, event probes, stacks; commands at functions
put function_events '!work'
put function_events 'work(int n)'
put function_events 'helper(int n)'
put synthetic_events 'both int n'
put events/functions/work/trigger 'hist:keys=common_pid:a=n'
put events/functions/helper/trigger 'hist:keys=common_pid:onmatch(functions.work).both($a)'
put events/synthetic/both/enable 1
put dynamic_events 'e:mine/copy functions/work m=$n:s32'
put events/mine/copy/enable 1
call 100
same "pairs and copies" "400 4 400 4" \
  "$(with ' both: ') $(with 'both: n=99$') $(with ' copy: ') $(with 'm=99$')"
put events/mine/copy/enable 0
put events/synthetic/both/enable 0
put events/functions/helper/trigger '!hist:keys=common_pid:onmatch(functions.work).both($a)'
put events/functions/work/trigger '!hist:keys=common_pid:a=n'
put dynamic_events '-:mine/copy'
new synthetic_events ''
clear_trace
put options/stacktrace 1
put events/functions/work/enable 1
call 3
same "a stack at each" "12 12" "$(with '>work\(') $(with '<stack trace>')"
put options/stacktrace 0
put events/functions/work/enable 0
clear_trace
put set_ftrace_filter 'work:enable_event:functions:helper'
call 10
check "a command switches the event on, for all" test "$(with 'helper\(')" -ge 37
put set_ftrace_filter '!work:enable_event:functions:helper'
put events/functions/helper/enable 0
clear_trace
new set_graph_function helper
put current_tracer function_graph
call 10
same "graphs of one function" "0 40" "$(with ' work\(') $(with 'helper\(\)(;| \{)$')"
put current_tracer nop
new set_graph_function ''
put function_events '!helper'
clear_trace

# --- sizes: each is another file
put buffer_size_kb 64
put events/functions/work/enable 1
call 100
same "into the smaller buffer" 400 "$(events)"
put per_cpu/cpu0/buffer_size_kb 128
put buffer_size_kb 2048
call 1000
same "into the larger one" 4400 "$(events)"
put events/functions/work/enable 0
clear_trace

# --- a child that comes later has what there is then, and follows as well
put events/functions/work/enable 1
ask more
workers=5
wait_for 20 all_follow || fail "not all children follow: $(rd debug/counters)"
call 100
same "five workers" "500 5" "$(events) $(tasks)"
put events/functions/work/enable 0
call 100
same "none of five" 500 "$(events)"
clear_trace

# --- a worker that is stopped is not waited for without end, and does it all when it goes on
ask pids
stopped=$(cut -d ' ' -f 2 <<<"$answer")
stop_whole "$stopped"
put events/functions/work/filter 'n == 7'
put events/functions/work/enable 1
put events/functions/work/filter 'n < 3'
kill -CONT "$stopped"
followed() {
  clear_trace
  call 10
  [[ $(events) == 15 ]]
}
check "it has followed" wait_for 20 followed
clear_trace
kill -KILL "$stopped"
put events/functions/work/enable 0
none_stopped

# --- in a mount: instances come and go; a file that is open while a worker is forked
mounted_part() {
  standin=$pid
  mkdir -p "$mounted"
  mount_tree || return
  local i
  for i in 1 2 3; do
    check "an instance" mkdir "$mounted/instances/own"
    echo "n < $((i * 10))" >"$mounted/instances/own/events/functions/work/filter"
    echo 1 >"$mounted/instances/own/events/functions/work/enable"
    call 100
    same "into the instance alone" "$((i * workers * 10)) 0" "$(events instances/own/) $(events)"
    echo 64 >"$mounted/instances/own/buffer_size_kb"
    call 100
    same "into its new buffer" "$((2 * i * workers * 10))" "$(events instances/own/)"
    echo function >"$mounted/instances/own/current_tracer"
    call 1
    check "its tracer" test "$(with ': work <-' instances/own/)" = "$workers"
    check "it goes" rmdir "$mounted/instances/own"
    call 10
  done
  exec 5>"$mounted/set_ftrace_filter"
  ask more
  workers=$((workers + 1))
  wait_for 20 all_follow || fail "not all children follow: $(rd debug/counters)"
  echo work >&5
  exec 5>&-
  echo function >"$mounted/current_tracer"
  call 100
  same "by a file that was open at the fork" "$((100 * workers)) 0" \
    "$(with ': work <-') $(with ': helper <-')"
  echo nop >"$mounted/current_tracer"
  fusermount3 -u "$mounted"
  wait "$mounter"
}
# The worker that was killed is none to the server, which would wait for it: begin anew.
exec 3>&- 4<&-
kill -KILL $pid
wait $pid 2>/dev/null
if ((EUID == 0)) && [[ -c /dev/fuse ]] && command -v fusermount3 >/dev/null; then
  workers=4
  start_driven PATCHBAY_FUNCTION_EVENTS='work(int n)' fork_workers
  put events/functions/work/enable 0
  clear_trace
  ask pids
  wait_for 20 all_follow || fail "not all children follow: $(rd debug/counters)"
  mounted_part
  none_stopped
  exec 3>&-
  wait $pid
  same "the server's end" 0 $?
  same "nothing was said" "" "$(cat "$work/err")"
else
  echo "SKIPPED: instances: no FUSE mount can be made here"
fi
finish
