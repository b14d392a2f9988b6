#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A library with static events is loaded and unloaded again and again, while four threads use its
# events and the program's, and events are switched on and off from outside. Nothing crashes, and
# what was recorded of events that stayed on adds up.
#   dlopen_events.sh BUILD_DIR [LOADS]
. "$(dirname "$0")/common.bash"
loads=${1:-1000}
threads=4 calls=50
app=$((loads * threads * (calls + calls / 2))) plugin=$((loads * threads * calls))

rm -f "$work/line" && mkfifo "$work/line"
LD_PRELOAD=$agent "$programs/event_app" $loads $threads $calls 0 hold \
  <"$work/line" >"$work/out" 2>"$work/err" &
pid=$!
started "$pid"
exec 7>"$work/line"
check "the agent answers" wait_for 20 "$patchbay" cat $pid available_events
# shared_event is the program's and the plug-in's: it stays on while the plug-in's sites of it come
# and go. Room for all that it records, and nothing lost.
"$patchbay" write $pid buffer_size_kb 49152
"$patchbay" write $pid events/app/shared_event/enable 1
echo >&7
toggles=0 heard=0
until [[ -s $work/out ]] || ! kill -0 $pid 2>/dev/null; do
  "$patchbay" write $pid events/app/app_work/enable 1 || { fail "enabling failed"; break; }
  # The plug-in may be gone at this moment: that is an error of the write, and only that.
  "$patchbay" write $pid events/plugin/enable 1 2>/dev/null && heard=$((heard + 1))
  "$patchbay" write $pid set_event ':mod:event_plugin_so' 2>/dev/null
  "$patchbay" write $pid events/app/app_work/enable 0 || { fail "disabling failed"; break; }
  toggles=$((toggles + 1))
done
check "the program is through" wait_for 300 test -s "$work/out"
same "nothing was lost" 0 "$(for cpu in $("$patchbay" ls $pid per_cpu); do
  "$patchbay" cat $pid per_cpu/$cpu/stats; done | sed -n 's/^\(overrun\|dropped events\): //p' |
  awk '{ lost += $1 } END { print lost + 0 }')"
echo >&7
wait $pid
same "exit status" 0 $?
same "every call was made" "app $app plugin $plugin" "$(cat "$work/out")"
"$patchbay" recover "$PATCHBAY_DIR" -o "$work/t.dat" >"$work/recover.out" 2>&1
"$patchbay" report -i "$work/t.dat" >"$work/report" 2>/dev/null
same "shared_event of the program, each one" $app \
  "$(grep -cE ' shared_event: from=0 ' "$work/report")"
same "shared_event of the plug-in, each one" $plugin \
  "$(grep -cE ' shared_event: from=1 ' "$work/report")"
check "something was toggled" test $toggles -gt 0
echo "$loads loads, $toggles times on and off, $heard times plugin: $(cat "$work/out")," \
  "$(grep -c ' app_work: ' "$work/report") app_work," \
  "$(grep -c ' plugin_call: ' "$work/report") plugin_call recorded"
finish
