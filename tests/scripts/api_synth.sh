#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The program's own synthetic and probe events (patchbay/trace_events.h): the answers and the bad
# input one by one, a plug-in that is unloaded while its events are on, a program that ends while it
# records, and no agent at all.
. "$(dirname "$0")/common.bash"

out=$("$programs/api_synth_contracts" 2>&1)
same "the contracts hold" 0 $?
has "all of them were looked at" "$out" '^contracts: [0-9]{3,} checks, 0 failures$'
for i in 1 2 3 4 5 6 7 8; do
  out=$("$programs/api_synth_contracts" exit 2>&1)
  same "a program ends while its threads record ($i)" "0 ends" "$? $out"
done
out=$(PATCHBAY_DIR=/proc/none "$programs/api_synth_contracts" no_agent 2>"$work/err")
same "without an agent" 0 $?
has "without an agent, all functions" "$out" '^contracts: [0-9]+ checks, 0 failures$'
has "and it was said why" "$(cat "$work/err")" 'runs untraced'

expected="made: 0
recorded: 0
after: -19
after: -19
made: 0
recorded: 0
after: -19
after: -19
defined: 0
trace: 20
trace: 20
gone: -2
instances/one/trace: 20
instances/one/trace: 20
gone: -2
instances/two/trace: 20
instances/two/trace: 20
gone: -2
probe: 60
unknown: 0"
export PATCHBAY_DIR=$work/unload
mkdir -m 700 "$PATCHBAY_DIR"
same "a plug-in is unloaded while its events are on" "$expected" \
  "$(PATCHBAY_TRACE_INSTANCE='one;two' "$programs/api_unload" 2 2>&1)"
"$patchbay" recover "$PATCHBAY_DIR" -o "$work/t.dat" >"$work/recover.out" 2>&1
report=$("$patchbay" report -i "$work/t.dat" 2>/dev/null)
has "a recovered file knows the events that are gone" "$report" ' plug: .*by the plug-in'
finish
