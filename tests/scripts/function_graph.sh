#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose functions return in every way that there is, or not at all (returns.sh), under
# function_graph and the function profiler at once: same output, same exit status, and the profiler
# has the calls that the program has counted. Then tracers that come and go while calls are inside.
#   function_graph.sh BUILD_DIR [PROGRAM…]
. "$(dirname "$0")/common.bash"

# start NAME [WORD…] : runs the program up to its first gate. Sets pid; descriptor 3 is its stdin.
start() {
  local name=$1
  shift
  rm -f "$work/in" "$work/gates"
  mkfifo "$work/in"
  RETURN_GATE=$work/gates LD_PRELOAD=$agent \
    "$programs/$name" "$@" <"$work/in" >"$work/out" 2>&1 3>&- &
  pid=$!
  started $pid
  exec 3>"$work/in"
  wait_for 20 "$patchbay" ls $pid || fail "$name: the agent does not answer"
}
go_on() { echo >&3; }
# at_gate NUMBER : until the program has come so far.
at_gate() {
  wait_for 60 eval '(($(stat -c %s "$work/gates") >= '"$1"'))' || fail "it does not come to gate $1"
}
put() { check "write $1: $2" "$patchbay" write $pid "$1" "$2"; }
get() { "$patchbay" cat $pid "$1"; }
# filter NAME… : of the default tracer.
filter() {
  local name
  check "empty filter" "$patchbay" write --truncate $pid set_ftrace_filter "$1"
  for name in "${@:2}"; do put set_ftrace_filter "$name"; done
}
functions_of() { sed -n 's|^// probe: ||p' "$here/../programs/$1.cc"; }
# hits FUNCTION : on all CPUs.
hits() {
  local file
  for file in $("$patchbay" ls $pid trace_stat); do get "trace_stat/$file"; done |
    awk -v f="$1" '$1 == f {n += $2} END {print n + 0}'
}
finish_program() {
  go_on
  exec 3>&-
  wait $pid
  status=$?
}

# run_both NAME COUNTED : COUNTED is yes where no call is without a slot.
run_both() {
  local name=$1 plain plain_status last function calls record
  plain=$(timeout -k 5 60 "$programs/$name" </dev/null 2>&1)
  plain_status=$?
  last=$(tail -n 1 <<<"$plain")
  start "$name"
  # shellcheck disable=SC2046  # words
  filter $(functions_of "$name")
  put current_tracer function_graph
  put function_profile_enabled 1
  # shellcheck disable=SC2046
  filter $(functions_of "$name")
  go_on
  wait_for 60 grep -qxF -- "$last" "$work/out" || fail "$name: no output: $(<"$work/out")"
  if [[ $2 == yes ]]; then
    while read -r _ function calls; do
      same "$name: $function: calls" "$calls" "$(hits "$function")"
    done < <(grep '^calls ' "$work/out")
  fi
  # Up to the first such line: 10,000 levels of recursion are lines of up to 20 KB.
  record="($(functions_of "$name" | tr -s ' \n' '||' | sed 's/|$//'))\(\)"
  has "$name: the graph has records" "$(get trace | grep -m 1 -E -- "$record")" "$record"
  finish_program
  same "$name: exit status" "$plain_status" "$status"
  same "$name: output" "$plain" "$(<"$work/out")"
}

test_programs() {
  local name
  for name in return_values return_exceptions return_signals return_threads return_processes \
    return_fibers return_backtrace return_copied return_personality; do
    run_both $name yes
  done
  run_both return_longjmp no
  run_both return_tailcalls no # a chain longer than what is kept of one return address
  run_both return_recursion no # deeper than there are slots
}

# Tracers that go while their calls are inside leave the returns alone.
test_inside() {
  start return_inside
  filter ret_outer ret_middle ret_waits
  put current_tracer function_graph
  go_on
  at_gate 2 # in ret_waits
  has "entered" "$(get trace)" 'ret_waits\(\)'
  put current_tracer nop
  put current_tracer function_graph
  go_on
  at_gate 3 # there again, and the calls before have returned
  has "entered again" "$(get trace)" 'ret_waits\(\)'
  same "calls that began under an earlier tracer leave nothing" "" \
    "$(get trace | grep -E '} /\* ret_')"
  put current_tracer nop
  go_on
  wait_for 60 grep -qE '^result 45' "$work/out" || fail "return_inside: no output"
  finish_program
  same "return_inside: exit status" 0 "$status"
}

# Switched while 64 threads are inside: three times, or for three seconds.
test_toggle() {
  local i tracer end
  start return_toggle
  filter ret_sum ret_leaf
  go_on
  at_gate 2 # the threads run
  end=$((SECONDS + 3))
  for ((i = 0; i < 3 || (i < 15 && SECONDS < end); i++)); do
    for tracer in function_graph function nop; do put current_tracer $tracer; done
    put function_profile_enabled $((i % 2))
    put max_graph_depth $((i % 3))
  done
  put current_tracer nop
  put function_profile_enabled 0
  go_on
  finish_program
  same "return_toggle: exit status" 0 "$status"
}

if (($# > 0)); then
  for name in "$@"; do run_both "$name" yes; done
else
  test_programs
  test_inside
  test_toggle
fi
finish
