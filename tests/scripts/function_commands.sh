#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Commands of set_ftrace_filter: what a call of a function does in an instance, beside being traced
# (docs/files.md). The program calls what it is told to, so each step is one hit.
#   function_commands.sh BUILD_DIR
. "$(dirname "$0")/common.bash"

start_driven PATCHBAY_TRACE_INSTANCE=own on_command

call() { echo "$*" >&3 && read -r -t 60 -u 4 _ || fail "the program does not answer to $*"; }
rd() { "$patchbay" cat $pid "$1"; }
put() { "$patchbay" write $pid "$1" "$2" 2>/dev/null; }
clear_trace() { "$patchbay" write --truncate $pid trace ''; }
works() { check "$1" put set_ftrace_filter "$1"; }
refused() {
  checks=$((checks + 1))
  ! put set_ftrace_filter "$1" || fail "accepted: $1"
}
commands() { rd set_ftrace_filter | grep -E ':(trace|snap|stack|dump|cpud|enab|disab)'; }
count_of() { commands | sed -n "s/^$1.*count=//p"; }
# The functions of the trace, in order.
traced() { rd trace | sed -nE 's/^[^#].*[0-9]: ([a-z_]+) <-.*/\1/p' | tr '\n' ' '; }
forget() { # every command
  local name
  for name in traceon traceoff snapshot stacktrace dump; do
    put set_ftrace_filter "!*:$name"
    put set_ftrace_filter "!*:$name:0"
  done
  put set_ftrace_filter '!*:cpudump'
  same "no command is left" "" "$(commands)"
}

put set_ftrace_filter 'alpha beta gamma_one'
check "the tracer" put current_tracer function
has "debug/call_sites has what only it traces" "$(rd debug/call_sites)" \
  '^0x[0-9a-f]+ [a-z-]+ beta \[on_command\] trace( \(.*\))? bytes 0x[0-9a-f]+\+5$'

# --- traceoff and traceon act at the hit
works 'beta:traceoff'
works 'gamma_one:traceon'
clear_trace
call alpha
call beta
call alpha 100
same "off" "0" "$(rd tracing_on)"
same "nothing after the hit" "alpha" "$(traced | grep -o alpha)"
call gamma_one
same "on again" "1" "$(rd tracing_on)"
call alpha
has "and it records" "$(traced)" 'alpha $'
forget

# --- counts: exact with 64 threads, per function, only what changes the state
works 'beta:traceoff:1'
same "listed" "beta:traceoff:count=1" "$(commands)"
call beta 1000 64
same "one of 64,000 hits" "0 0" "$(count_of beta) $(rd tracing_on)"
put tracing_on 1
call beta 1000 64
same "no more" "1" "$(rd tracing_on)"
forget
works '[ab][le][pt]*a:traceoff:3'
same "each has its own" "alpha:traceoff:count=3 beta:traceoff:count=3 " \
  "$(commands | sort | tr '\n' ' ')"
for _ in 1 2; do
  put tracing_on 1
  call beta 5
done
same "counted by changes" "3 1" "$(count_of alpha) $(count_of beta)"
put tracing_on 1
call 'fork beta'
same "a child hits for all" "0 0" "$(count_of beta) $(rd tracing_on)"
put tracing_on 1
forget

# --- the rules of adding and removing
works 'alpha:traceoff'
refused 'alpha:traceoff'
works 'alpha:traceoff:2'
refused 'alpha:traceoff:4'
works 'alpha:traceon:0x10'
same "the newest first" "alpha:traceon:count=16 alpha:traceoff:count=2 alpha:traceoff:unlimited " \
  "$(commands | tr '\n' ' ')"
refused 'alpha:traceoff:x'
refused 'alpha:traceoff:99999999999999999999'
refused 'nothing_of_the_kind:traceoff'
refused 'alpha:nothing'
refused 'alpha:'
refused ':traceoff'
refused '!beta:traceoff'
refused '!alpha:snapshot'
checks=$((checks + 1))
! put set_ftrace_notrace 'alpha:traceoff' || fail "accepted in set_ftrace_notrace"
works '!alpha:traceoff:0'
same "only those with a count went" "alpha:traceon:count=16 alpha:traceoff:unlimited " \
  "$(commands | tr '\n' ' ')"
put set_ftrace_filter 'alpha beta gamma_one'
has "they outlive the filter" "$(commands)" '^alpha:traceoff:unlimited$'
forget

# --- snapshot: what was recorded until then moves
works 'beta:snapshot:1'
has "the memory is there" "$(rd snapshot)" 'Snapshot is allocated'
clear_trace
call alpha
call beta
wait_for 20 eval 'rd snapshot | grep -q "alpha <-"' || fail "no snapshot came"
same "and is not in the trace" "" "$(traced | grep alpha)"
same "counted" "0" "$(count_of beta)"
call alpha
call beta
has "only once" "$(traced)" alpha
put snapshot 0
forget
works 'beta:snapshot'
put snapshot 0
call beta
wait_for 20 eval '[[ $(rd tracing_on) == 0 ]]' || fail "a snapshot that is freed does not stop"
has "and it says why" "$(rd trace)" 'SNAPSHOT NOT ALLOCATED'
put tracing_on 1
forget

# --- stacktrace
works 'beta:stacktrace:2'
clear_trace
call beta 5
same "two stacks" "2" "$(rd trace | grep -c '<stack trace>')"
has "of this call" "$(rd trace)" '^ => beta'
has "from main" "$(rd trace)" '^ => main'
forget
# An empty count is -1, as in the kernel: stacktrace acts and counts on, the others never act.
works 'beta:stacktrace:'
works 'beta:traceoff:'
works 'beta:snapshot:'
clear_trace
call beta 3
same "three stacks" "3" "$(rd trace | grep -c '<stack trace>')"
same "counted on" "beta:snapshot:count=-1 beta:traceoff:count=-1 beta:stacktrace:count=-4" \
  "$(commands | tr '\n' ' ' | sed 's/ $//')"
same "and on" "1" "$(rd tracing_on)"
works 'alpha:stacktrace:0'
clear_trace
call alpha
same "none at 0" "0" "$(rd trace | grep -c '<stack trace>')"
forget

# --- dump: what was recorded until then, on the program's own stderr; recording stops
works 'beta:dump'
same "once" "beta:dump:count=1" "$(commands)"
clear_trace
call alpha
call beta
wait_for 20 grep -q 'Dumping ftrace buffer' "$work/err" || fail "nothing was dumped"
has "the call before" "$(<"$work/err")" 'alpha <-'
same "off" "0" "$(rd tracing_on)"
same "what was shown is gone" "" "$(traced)"
put tracing_on 1
call beta
same "no second one" "1 1" "$(rd tracing_on) $(grep -c Dumping "$work/err")"
works 'beta:cpudump'
has "always" "$(commands)" '^beta:cpudump:unlimited$'
call beta
wait_for 20 eval '(($(grep -c Dumping "$work/err") == 2))' || fail "no dump of a CPU"
put tracing_on 1
forget

# --- events: soft mode
put current_tracer nop
check "an event" put kprobe_events 'p:seen alpha'
seen=events/kprobes/seen/enable
works 'beta:enable_event:kprobes:seen:2'
refused 'beta:enable_event:kprobes:seen:1'
refused 'beta:enable_event:kprobes:other'
refused 'beta:enable_event:kprobes'
works 'gamma_one:disable_event:kprobes:seen'
same "off, but held" "0*" "$(rd $seen)"
clear_trace
call alpha
call beta
same "on by the hit" "1*" "$(rd $seen)"
call alpha
call gamma_one
call alpha
same "off by the hit" "0*" "$(rd $seen)"
same "one record" "1" "$(rd trace | grep -c 'seen:')"
call beta
put $seen 0
same "off by hand" "0*" "$(rd $seen)"
call alpha
call beta 3
same "the count is at its end" "0* 0" "$(rd $seen) $(count_of beta)"
put $seen 1
same "on by hand" "1*" "$(rd $seen)"
checks=$((checks + 1))
! put kprobe_events '-:seen' || fail "an event in soft mode was removed"
works '!gamma_one:disable_event:kprobes:seen'
works '!beta:enable_event:kprobes:seen:0'
same "as it was shown" "1" "$(rd $seen)"
put $seen 0

# --- an instance has its own
put instances/own/set_ftrace_filter 'beta:traceoff:1'
call beta
same "its own switch" "1 0" "$(rd tracing_on) $(rd instances/own/tracing_on)"
same "no command in the other" "" "$(commands)"
exec 3>&-
wait $pid
same "the program's end" "0" "$?"
finish
