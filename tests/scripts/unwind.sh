#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread is stepped through traced calls, one instruction after the other, and unwound at each
# (tests/programs/unwind_steps.cc): the caller of the traced function, what is in its registers,
# and the frames behind it must be there from every instruction of a stub and of the probe path,
# however the function is traced.
#   unwind.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$programs/unwind_steps

# begin : runs the program up to its gate. Sets pid; descriptor 3 is its stdin.
begin() {
  rm -f "$work/in"
  mkfifo "$work/in"
  STEP_GATE=1 LD_PRELOAD=$agent "$program" "$@" <"$work/in" >"$work/out" 2>"$work/err" 3>&- &
  pid=$!
  started $pid
  exec 3>"$work/in"
  wait_for 20 "$patchbay" ls $pid || fail "the agent does not answer"
}
put() { check "$1: $2" "$patchbay" write $pid "$1" "$2"; }
through() { grep -q "^$1: " "$work/out" || ! kill -0 $pid; }
# steps NAME… : all of them are stepped, and good.
steps() {
  local name
  echo >&3
  wait_for 100 through "${*: -1}" || fail "${*: -1} is not reached"
  for name in "$@"; do
    check "$name: each instruction is unwound" grep -qx "$name: good" "$work/out"
    grep -A 8 "^$name: .* [1-9][0-9]* bad" "$work/err" | cut -c1-250 |
      sed '1!{/^[^ ]/,$d}; s/^/  /'
  done
}
# uses NAME BYTES : so much of a painted stack is written at most (docs/unwinding.md has the list).
uses() {
  local bytes
  bytes=$(sed -n "s/^$1: .*, \([0-9]*\) bytes of stack$/\1/p" "$work/err")
  check "$1: $bytes bytes of stack, at most $2" test "${bytes:-99999}" -le "$2"
}
end() {
  echo >&3
  exec 3>&-
  wait $pid
  same "the program ends" 0 $?
}

plain=$("$program" untraced 2>"$work/err")
status=$?
((status != 77)) || skip "ptrace is not permitted"
same "without tracing" "untraced: good" "$plain"

# Events, one way of recording each.
begin event text fault filtered compared hist registers return limited return_text whole \
  whole_fault static \
  filtered_static numbers stack inside realigned short tail both \
  subscribed subscribed_lean called called_lean
put function_events 'step_event(long a, long b)'
put function_events 'step_text(long a, string text)'
put function_events 'step_fault(char[16] text, long b)'
put function_events 'step_filtered(long a, long b)'
put function_events 'step_compared(string a, long b)'
put function_events 'step_stack(long a)'
put function_events 'step_short(long a)'
put function_events 'step_leaf(long a)'
put function_events 'long r = step_whole(string text, long b)'
put function_events 'long r = step_whole_fault(string text, long b)'
put function_events 'step_subscribed(long a, long b)'
put function_events 'step_subscribed_lean(string text, long b)'
put kprobe_events 'p:registers step_registers a=%ax sp=%sp two=+0(%sp):x64[2]'
put kprobe_events 'p:hist step_hist a=$arg1'
put kprobe_events 'r:return step_return ret=$retval'
put kprobe_events 'r:return_text step_return_text ret=+0($retval):string b=$arg2'
put kprobe_events 'r2:limited step_limited ret=$retval'
put kprobe_events 'r:tail step_tail ret=$retval'
put kprobe_events 'p:both step_both a=%ax'
put kprobe_events 'r:both_return step_both ret=$retval'
for at in 0 1 4 5 9 14; do put kprobe_events "p:inside_$at step_inside+$at a=%di"; done
for at in 5 9 13 14; do put kprobe_events "p:realigned_$at step_realigned+$at a=+0(%sp)"; done
put events/functions/step_filtered/filter 'a == 77'
put events/functions/step_compared/filter 'a ~ "*x*" || b == 77'
put events/kprobes/hist/trigger 'hist:keys=a:vals=hitcount'
put events/steps/step_made/trigger 'hist:keys=n'
put events/steps/step_compared_made/filter 'n == 77 || text ~ "*x*"'
put events/functions/step_stack/trigger stacktrace
for name in event text fault filtered compared stack short leaf whole whole_fault; do
  put events/functions/step_$name/enable 1
done
put events/kprobes/enable 1
put events/steps/enable 1
has "an int3 is among the places" "$("$patchbay" cat $pid debug/call_sites)" 'int3 step_short'
steps event text fault filtered compared hist registers return limited return_text whole \
  whole_fault static \
  filtered_static numbers stack inside realigned short tail both \
  subscribed subscribed_lean called called_lean
uses event 768
uses text 1280
uses compared 1280
uses hist 1024
uses registers 896
uses inside 896
uses realigned 896
uses return 896
uses limited 1024
uses whole 896
uses return_text 1600
uses numbers 896
uses tail 896
uses both 896
uses stack 1920
uses subscribed 2560
uses subscribed_lean 384
uses called 2560
uses called_lean 384
end

# The tracers.
begin function nested tail graph
put set_ftrace_filter 'step_*'
put current_tracer function
steps function nested tail graph
uses function 768
uses graph 768
end
begin nested tail graph profiled
put set_ftrace_filter 'step_*'
put current_tracer function_graph
steps nested tail graph profiled
uses graph 896
uses nested 896
end
begin nested tail profiled
put set_ftrace_filter 'step_*'
put function_profile_enabled 1
steps nested tail profiled
uses profiled 896
end

# Threads that are cancelled wherever they are.
cancelled() {
  rm -f "$work/in"
  mkfifo "$work/in"
  LD_PRELOAD=$agent "$programs/unwind_cancel" <"$work/in" >"$work/out" 2>&1 3>&- &
  pid=$!
  started $pid
  exec 3>"$work/in"
  wait_for 20 "$patchbay" ls $pid || fail "the agent does not answer"
  put kprobe_events "$1"
  put events/kprobes/enable 1
  end
  same "$1: cancelled threads clean up" "300 of 300 threads were cancelled and have cleaned up" \
    "$(<"$work/out")"
}
cancelled 'p:x traced a=%ax'
cancelled 'p:x traced+3 a=+0(%sp):x64[2]'
finish
