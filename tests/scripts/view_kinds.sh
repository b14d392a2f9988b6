#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay view: pages of each kind of recording in chromium: entries with their returns, the tracer
# function, stacks, several instances, synthetic events, live buffers, and a kernel's trace.dat.
#   view_kinds.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$(dirname "$0")/view_common.bash"
. "$(dirname "$0")/kernel_recording.bash"
need chromium node python3 gcc
cd "$work" || exit
gcc -O2 -g -pthread "$here_view/page_program.c" -o program || fail "the program does not compile"
# kinds NAME KINDS [TREE [INSTANCES]] : the page of NAME.dat has these rows, these functions in its
# trees, and so many rows of each instance.
# KINDS: {"function": {"count", "call", "system", "details": [words], "stack": [innermost …]}}
kinds() {
  "$patchbay" view -i "$1.dat" -o "$1.html" 2>err || fail "view of $1: $(cat err)"
  expect "$1" name="\"$1\"" kinds="$2" tree="${3:-[]}" instances="${4:-null}"
  walk kinds "$1"
}
record() { # NAME OPTION…
  "$patchbay" record -q -o "$1.dat" "${@:2}" -- ./program 20 >/dev/null 2>err ||
    fail "record $1: $(cat err)"
}

record pairs -e 'p:probe/in page_step i=%di:s32' -e 'r:probe/out page_step r=$retval:s32' \
  -e 'p:probe/alone page_work'
kinds pairs '{"page_step": {"count": 600, "call": true, "system": "entry and return",
    "details": ["i", "return r", "page_work"]},
  "in": {"count": 600, "system": "probe", "details": ["i"]},
  "out": {"count": 600, "system": "probe", "details": ["r"]},
  "alone": {"count": 60, "system": "probe"}}' '["page_step"]' '{"top": 1860}'

record function -t function -l 'page_*' -O func-args
kinds function '{"page_step": {"count": 600, "system": "function",
    "details": ["caller", "page_work", "text"]},
  "page_work": {"count": 60, "system": "function", "details": ["big", "n", "10"]}}'

record results -t function_graph -O funcgraph-retval -l page_round -l page_work
kinds results '{"page_round": {"count": 60, "call": true, "system": "",
    "without": ["return value"]},
  "page_work": {"count": 60, "call": true, "system": "", "details": ["return value"]}}'

record stacks -O stacktrace -e 'page_step(int i, string text)'
kinds stacks '{"page_step": {"count": 600, "system": "functions", "details": ["text", "plain"],
    "stack": ["page_step", "page_work", "page_round"]}}' '["page_round", "page_step"]'

record several -B one -t function_graph -l 'page_*' -B two -e 'page_round(int number)' \
  -B three -t function -l page_work
one=$("$patchbay" report -i several.dat --stat 2>/dev/null |
  awk '$2 == "ftrace:funcgraph_entry" { print $1 }')
kinds several '{"page_step": {"count": 600, "call": true, "system": "", "details": ["page_work"]},
  "page_work": {"count": 60, "system": "function", "details": ["page_round"]},
  "page_round": {"count": 60, "system": "functions", "details": ["number"]}}' '["page_step"]' \
  "{\"one\": $one, \"two\": 60, \"three\": 60}"

record alone -B alone -e 'page_work(int n)'
kinds alone '{"page_work": {"count": 60, "system": "functions"}}' '[]' '{"alone": 60}'

# --- live: four processes by fork, and a synthetic event
mkfifo input
LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS='work(int n)' "$programs/fork_workers" \
  <input >workers.out 2>&1 &
pid=$!
started $pid
exec 7>input
wait_for 60 "$patchbay" cat $pid current_tracer || fail "there is no agent"
w() { "$patchbay" write $pid "$1" "$2" >out 2>&1 || fail "write $1: $(cat out)"; }
w dynamic_events 'p:kp/begin helper n=%di:s32'
w dynamic_events 's:delay int n; u64 ns'
w events/kp/begin/trigger 'hist:keys=common_pid:n=n,b=common_timestamp'
w events/functions/work/trigger \
  'hist:keys=common_pid:d=common_timestamp-$b:onmatch(kp.begin).trace(delay,$n,$d)'
for event in functions/work kp/begin synthetic/delay; do w events/$event/enable 1; done
echo "call 50" >&7
wait_for 60 grep -q . workers.out || fail "the workers do not answer"
# What each buffer has, as report counts it.
cat >counts.py <<'EOP'
import sys
counts = {}
for line in sys.stdin:
    count, *what = line.split(None, 1)
    if count.isdigit() and not what[0].startswith(("on CPU", "in all")):
        counts[what[0].strip()] = counts.get(what[0].strip(), 0) + int(count)
for what, count in counts.items(): print(f"{count:20}  {what}")
print(f"{sum(counts.values()):20}  in all")
EOP
live() {
  local folder
  for folder in "$PATCHBAY_DIR"/*/; do
    "$patchbay" report -i "$folder" --stat 2>/dev/null | grep -E '^ +[0-9]'
  done | python3 counts.py >live.stat
  [[ $(awk '$2 == "functions:work" { print $1 }' live.stat) == 200 ]]
}
wait_for 60 live || fail "four processes with 50 calls each: $(cat live.stat)"
"$patchbay" view -i "$PATCHBAY_DIR" -o live.html 2>err || fail "view of live buffers: $(cat err)"
delays=$(awk '$2 == "synthetic:delay" { print $1 }' live.stat)
check "synthetic events come" test "$delays" -gt 0
python3 "$work/expect.py" live.json live.stat name='"live"' kinds='{
  "work": {"count": 200, "system": "functions", "details": ["n", "fork_workers"]},
  "begin": {"count": 200, "system": "kp", "details": ["n"]},
  "delay": {"count": '"$delays"', "system": "synthetic", "details": ["ns"]}}'
walk kinds live
exec 7>&-

# --- a kernel's recording, made by trace-cmd
if kernel_recording; then
  switches=$("$patchbay" report -i kernel.dat --stat 2>/dev/null |
    awk '$2 == "sched:sched_switch" { print $1 }')
  spans=$("$patchbay" export --to chrome -i kernel.dat -o - 2>/dev/null | grep -c '"off the CPU"')
  kinds kernel '{"sched_switch": {"count": '"$switches"', "system": "sched",
    "details": ["prev_comm", "next_pid", "__schedule"]},
    "off the CPU": {"count": '"$spans"', "system": "sched", "call": true,
      "details": ["state"]}}'
else
  echo "view_kinds.sh: no recording of the kernel can be made here: it was NOT tried"
fi
finish
