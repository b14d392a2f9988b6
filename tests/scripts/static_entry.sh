#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A static event at the very beginning of a function, beside the tracers, probes and function events
# of that function: both record every call, whichever came first, and nothing says 1 and records 0.
. "$(dirname "$0")/common.bash"
program=$programs/key_first
functions='-l work -l deeper'

# count EVENT FILE : lines of a report.
count() { grep -cE -- "$1" "$2"; }
for tracer in function function_graph; do
  # shellcheck disable=SC2086
  "$patchbay" record -q -t $tracer $functions -e app:hit -e app:behind -o "$work/t.dat" \
    -- "$program" 1000 >"$work/out" 2>"$work/err"
  same "the program is not disturbed ($tracer)" "500500" "$(cat "$work/out")"
  "$patchbay" report -i "$work/t.dat" >"$work/report"
  same "app:hit beside $tracer" 1000 "$(count ': hit: +n=' "$work/report")"
  same "app:behind beside $tracer" 1000 "$(count ': behind: +n=' "$work/report")"
  for name in work deeper; do
    [[ $tracer == function ]] && line=": $name <-|: +function: +$name" || line="[: ]$name\\("
    same "$tracer has $name" 1000 "$(count "$line" "$work/report")"
  done
done

mkfifo "$work/line"
LD_PRELOAD=$agent "$program" <"$work/line" >"$work/out" 2>"$work/err" &
pid=$!
started $pid
exec 7>"$work/line"
wait_for 20 "$patchbay" cat $pid available_events
# hits_of THINGS… : calls every function 100 times and says what each left in the trace.
calls_are_through() { (($(wc -l <"$work/out") > $1)); }
hits_of() {
  "$patchbay" write --truncate $pid trace ''
  local before
  before=$(wc -l <"$work/out")
  echo >&7
  wait_for 60 calls_are_through "$before" || fail "the program answers"
  "$patchbay" cat $pid trace >"$work/trace"
  local thing counts=''
  for thing; do counts+="$(count "$thing" "$work/trace") "; done
  echo "${counts% }"
}
put() { check "$*" "$patchbay" write $pid "$@"; }
events='hit:|behind:'
traced='(work|deeper) <-'
probed='(work|deeper|probed|returned): \(|->(work|deeper)\('
put function_events 'work(int n)'
put function_events 'deeper(int n)'
put kprobe_events 'p:probed work'
put kprobe_events 'r:returned work'
put set_ftrace_filter $'work\ndeeper'

static() { put events/app/enable "$1"; }
tracer() { put current_tracer "$([[ $1 == 1 ]] && echo function || echo nop)"; }
probes() { put events/functions/enable "$1" && put events/kprobes/enable "$1"; }
for order in "static tracer" "tracer static" "static probes" "probes static" \
  "static tracer probes" "probes tracer static" "tracer static probes"; do
  want_static=0 want_tracer=0 want_probes=0
  for on in 1 0; do
    for what in $order; do
      $what $on
      case $what in
        static) want_static=$((200 * on)) ;;
        tracer) want_tracer=$((200 * on)) ;;
        probes) want_probes=$((400 * on)) ;;
      esac
      same "'$order', $what $on" "$want_static $want_tracer $want_probes" \
        "$(hits_of "$events" "$traced" "$probed")"
    done
  done
done
"$patchbay" cat $pid debug/call_sites debug/refused_functions >"$work/sites"
same "nothing is refused" "" "$(grep -E 'key.*refused|(work|deeper):' "$work/sites")"
same "no error was noted" "" "$("$patchbay" cat $pid error_log | grep -v '^#')"
exec 7>&-
wait $pid
same "the program ends well" 0 $?
finish
