#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One function wanted by everybody at once: the tracers of three instances (one of them on the whole
# program), a function event in two, a probe at its entry, one at its return, the profiler. Each
# must see every call, once, also while others come and go, in 64 threads.
#   function_shared.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
calls=${SHARED_CALLS:-20} # by each thread

start_driven on_command
call() { echo "$*" >&3 && read -r -t 60 -u 4 _ || fail "the program does not answer to $*"; }
rd() { "$patchbay" cat $pid "$1"; }
put() { check "$2 >$1" "$patchbay" write $pid "$1" "$2"; }
hits() {
  local file
  for file in $("$patchbay" ls $pid trace_stat); do rd "trace_stat/$file"; done |
    awk -v f="$1" '$1 == f { n += $2 } END { print n + 0 }'
}
lines() { rd "$1" | grep -cE -- "$2"; }

for name in one two three; do
  check "instance $name" "$patchbay" start -p $pid -B $name -b 16384
done
put buffer_size_kb 16384
put function_events 'alpha(int n)'
put kprobe_events 'p:entry alpha n=$arg1:s32'
put kprobe_events 'r:return alpha ret=$retval:s32'
put set_ftrace_filter alpha
put current_tracer function
put function_profile_enabled 1
put set_ftrace_filter 'alpha beta'
for name in one two; do put instances/$name/set_ftrace_filter alpha; done
put instances/one/current_tracer function_graph
put instances/two/current_tracer function
put instances/three/set_ftrace_filter ':mod:!*' # the program's own, no library's
put instances/three/current_tracer function_graph
put events/functions/alpha/enable 1
put instances/one/events/functions/alpha/enable 1
put events/kprobes/enable 1
put instances/three/events/kprobes/return/enable 1

# --- who sees what
expected=0
expect() { # NAME : all of them have `expected` calls of alpha
  same "$1: function, top" $expected "$(lines trace ': alpha <-')"
  same "$1: function event, top" $expected "$(lines trace '->alpha\(n=')"
  same "$1: probe at the entry" $expected "$(lines trace ': entry: ')"
  same "$1: probe at the return" $expected "$(lines trace ': return: ')"
  same "$1: function_graph" $expected "$(lines instances/one/trace ' alpha\(\)(;| \{)')"
  same "$1: function event, an instance" $expected "$(lines instances/one/trace 'alpha\(n=')"
  same "$1: function, an instance" $expected "$(lines instances/two/trace ': alpha <-')"
  same "$1: function_graph of all" $expected "$(lines instances/three/trace ' alpha\(\)(;| \{)')"
  same "$1: probe, an instance" $expected "$(lines instances/three/trace 'return: ')"
  same "$1: profiler" $expected "$(hits alpha)"
  same "$1: hits of the probes" "entry $expected 0 return $expected 0" \
    "$(rd kprobe_profile | tr -s ' ' | sed 's/^ //' | sort | xargs)"
}
call alpha
expected=1
expect "one call"
call "alpha $calls 64"
expected=$((1 + 64 * calls))
expect "64 threads"
same "nothing is lost" "0" "$(for name in '' instances/one/ instances/two/ instances/three/; do
  for cpu in $("$patchbay" ls $pid per_cpu); do rd "${name}per_cpu/${cpu%/}/stats"; done
done | awk '/overrun|dropped/ { n += $NF } END { print n + 0 }')"

# --- the same while others come and go
(
  turn=0
  while [[ ! -e $work/enough ]]; do
    turn=$((turn + 1))
    for tracer in nop function function_graph; do
      "$patchbay" write $pid instances/four/current_tracer $tracer
    done
    "$patchbay" write --truncate $pid instances/four/set_ftrace_filter \
      "$( ((turn % 2)) && echo alpha || echo beta)"
    "$patchbay" write $pid instances/four/events/kprobes/entry/enable $((turn % 2))
    echo $turn >"$work/turns"
  done
) >/dev/null 2>"$work/toggle.err" &
toggler=$!
"$patchbay" start -p $pid -B four
wait_for 60 grep -q . "$work/turns"
for _ in 1 2 3 4 5; do
  call "alpha $calls 64"
  expected=$((expected + 64 * calls))
  before=$(<"$work/turns")
  changed() { (($(cat "$work/turns" || echo 0) > before)); }
  check "the other goes on" wait_for 60 changed
done
touch "$work/enough"
wait $toggler
expect "while one toggles"
echo "$expected calls, $(<"$work/turns") turns of the other"
exec 3>&-
wait $pid
same "the program's end" 0 $?
finish
