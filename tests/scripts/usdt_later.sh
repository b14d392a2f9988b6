#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# USDT probes of a library that comes by a plain dlopen, after the program's start, are found while
# recording, though nobody asks for them: PATCHBAY_TRACE_EVENT names one that is not there yet.
. "$(dirname "$0")/common.bash"
mkfifo "$work/line"
LD_PRELOAD=$agent PATCHBAY_TRACE_EVENT=sdt_plug:hit \
  "$programs/dlopen_probes" "$programs/probe_plugin_so.so" \
  <"$work/line" >"$work/out" 2>"$work/err" &
pid=$!
started $pid
exec 7>"$work/line"
check "the agent answers" wait_for 20 test -S "$PATCHBAY_DIR/$pid/ctl.sock"
printf '.' >&7
# Counting what the buffer holds asks the agent nothing: no file of the tree is opened.
# shellcheck disable=SC2317  # called by wait_for
recorded() { "$patchbay" dump "$PATCHBAY_DIR/$pid" | grep -q 'events published'; }
check "the probe is recorded by itself" wait_for 20 recorded
has "debug/call_sites has it" "$("$patchbay" cat $pid debug/call_sites)" ' sdt_plug:hit on$'
echo >&7
wait $pid
same "exit status" 0 $?
"$patchbay" recover "$PATCHBAY_DIR" -o "$work/t.dat" >"$work/recover.out" 2>&1
"$patchbay" report -i "$work/t.dat" >"$work/report" 2>/dev/null
has "with its argument" "$(cat "$work/report")" ' hit: .* arg1=[0-9]+$'
same "each run of it, of both loads" "$(cat "$work/out")" "$(grep -c ' hit: ' "$work/report")"
finish
