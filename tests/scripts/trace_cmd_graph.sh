#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Function tracers before outside judges: the same calls, nesting and durations in trace-cmd's
# report as in ours, of files that `patchbay record` made; and trace-cmd itself as the one who
# records, on a program through `patchbay with-tracefs`.
#   trace_cmd_graph.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need trace-cmd python3
cd "$work" || exit
program=$programs/graph_calls

# calls < REPORT : by thread and time, one line for each beginning and end of a call: ">" or "<",
# its level, function, and at the end its duration; a leaf is both. Of a brace without a name the
# name is that of its beginning.
cat >calls.py <<'EOP'
import re, sys
open_calls = {}
line_of = re.compile(r"^ *.+-(\d+) +\[\d+\].*?([0-9]+)\.([0-9]+): +funcgraph_(entry|exit): +"
                     r"(?:[!+#*@$] +|)([0-9.]+ us +)?\|  ( *)(.*)$")
lines = [found.groups() for found in map(line_of.match, sys.stdin) if found]
lines.sort(key=lambda one: (int(one[0]), int(one[1]), int(one[2])))
for pid, _, _, kind, duration, blanks, text in lines:
    level, duration = len(blanks) // 2, (duration or "").split(" ")[0]
    stack = open_calls.setdefault(pid, {})
    if kind == "entry":
        name = re.sub(r"\(.*", "", text)
        print(pid, ">", level, name)
        stack[level] = name
        if text.endswith(";"): print(pid, "<", level, name, duration)
    else:
        named = re.search(r"/\* (\S+) \*/", text)
        name = named.group(1) if named else stack.get(level, "?")
        print(pid, "<", level, name, duration)
EOP
calls() { python3 calls.py; }
steps_back() {
  sed -nE 's/^.* ([0-9]+)\.([0-9]{6}): funcgraph_.*/\1\2/p' |
    awk '$1 < before { print "behind " before ": " $1 } { before = $1 }'
}
# alike WHAT FILE : both reports of one file tell the same, thread by thread (which of two lines of
# different CPUs comes first where a leaf is one line is each report's own). By time: where a thread
# has changed its CPU in a leaf, trace-cmd 3.1.6 shows the next event of the old one too early.
alike() {
  "$patchbay" report -i "$2" 2>/dev/null >ours.txt
  trace-cmd report -t -i "$2" 2>tc.err | calls >theirs  # -t: all of the nanoseconds
  calls <ours.txt >ours
  check "$1: there are calls" test -s ours
  same "$1: our lines are in order of time" "" "$(steps_back <ours.txt | head -n 3)"
  same "$1: trace-cmd has nothing to complain of" "" "$(grep -v '^cpus=' tc.err)"
  # trace-cmd has no name for the end of a call that began before the recording did.
  awk 'NR == FNR { name[FNR] = $4; next } name[FNR] == "?" { $4 = "?" } { print }' theirs ours \
    >known
  checks=$((checks + 1))
  diff known theirs >differ && return
  fail "$1: patchbay report (<) and trace-cmd report (>) differ: $(grep -c '^[<>]' differ) lines"
  head -n 6 differ
}

# --- our files
for format in 7 6; do
  "$patchbay" record -q --format $format -o g.dat -t function_graph -l 'calls_*' -- "$program" \
    >own 2>err || fail "record: $(cat err)"
  alike "function_graph, version $format" g.dat
  total=$(awk '{ sum += $2 } END { print sum }' own)
  same "version $format: each call begins once" "$total" "$(grep -c ' > ' theirs)"
done
has "option tailprint" "$(trace-cmd report -i g.dat -O fgraph:tailprint=1 2>/dev/null)" \
  '\|  +\} /\* calls_middle \*/$'
has "option depth" "$(trace-cmd report -i g.dat -O fgraph:depth=1 2>/dev/null)" \
  'calls_leaf\(\); \([1-9]\)$'
# Durations are those of calltime and rettime, which are nanoseconds: no call is longer than the
# program, and a call is not shorter than what it calls.
trace-cmd report -R -i g.dat 2>/dev/null | grep funcgraph_exit: >raw
cat >raw.py <<'EOP'
import re, sys
times = [tuple(int(n, 0) for n in re.search(r"calltime=(\S+) rettime=(\S+)", line).groups())
         for line in open("raw")]
stamps = [float(re.search(r"\] +([0-9.]+): ", line).group(1)) for line in open("raw")]
span = max(stamps) - min(stamps)
print("exits", len(times) > 100,
      "order", all(call <= ret for call, ret in times),
      "ns", max(ret for _, ret in times) - min(ret for _, ret in times) <= (span + 0.001) * 1e9,
      "clock", all(abs(ret / 1e9 - stamp) < 0.01 for (_, ret), stamp in zip(times, stamps)))
EOP
same "calltime and rettime are nanoseconds of the file's clock" \
  "exits True order True ns True clock True" "$(python3 raw.py 2>&1)"
"$patchbay" record -q -o a.dat -t function_graph -O funcgraph-args -O funcgraph-retaddr \
  -l 'calls_*' -- "$program" >own 2>err
has "with arguments ours has them" "$("$patchbay" report -i a.dat 2>/dev/null)" \
  'calls_leaf\([a-z]+=-?[0-9a-fx]+\);$'

"$patchbay" record -q -o f.dat -t function -l 'calls_*' -- "$program" >own 2>err
# A caller whose call is its function's last instruction: only ours looks at the call for its name.
lines() {
  sed -nE 's/.*-([0-9]+) +\[.* ([0-9]+\.[0-9]+): +function: +([^ ]+) +<-+ ?(.*)/\1 \2 \3 \4/p' |
    grep -v ' calls_end '
}
"$patchbay" report -i f.dat 2>/dev/null | lines >ours
trace-cmd report -i f.dat -O ftrace:indent=0 -O ftrace:parent=1 2>/dev/null | lines >theirs
check "function: there are calls" test -s ours
same "function: the plugin of libtraceevent shows the same" "" "$(diff ours theirs | head -n 5)"

# --- trace-cmd records
if ! [[ -r /dev/fuse && -w /dev/fuse ]] || ! unshare -m true 2>/dev/null; then
  echo "trace_cmd_graph.sh: mounts are not permitted: trace-cmd was NOT tried on a program"
  finish
fi
mkfifo input
LD_PRELOAD=$agent "$program" stay 10 <input >live.own 2>live.err &
pid=$!
started $pid
exec 7>input
wait_for 20 "$patchbay" cat $pid current_tracer || fail "the process has no agent"
tc() { timeout 60 "$patchbay" with-tracefs $pid -- trace-cmd "$@"; }
quietly() { "$@" >log 2>&1 || { cat log; false; }; }
names() { awk '$2 == ">" { print $4 }' theirs.calls | sort -u | tr '\n' ' '; }
levels() { awk '$2 == ">" { print $3 }' theirs.calls | sort -un | tr '\n' ' '; }
recorded() {
  trace-cmd report -i t.dat 2>/dev/null >theirs.txt
  calls <theirs.txt >theirs.calls
}

check "record -p function_graph" quietly tc record --compression none -p function_graph \
  -l calls_middle -l calls_leaf -o t.dat sleep 0.2
recorded
same "only what was asked for" "calls_leaf calls_middle " "$(names)"
same "nested" "0 1 " "$(levels)"
alike "trace-cmd's own file" t.dat
same "the tracer is off again" nop "$("$patchbay" cat $pid current_tracer)"
check "record -n" quietly tc record -p function_graph -l 'calls_*' -n calls_leaf -o t.dat sleep 0.2
recorded
same "without calls_leaf" 0 "$(grep -c calls_leaf theirs.txt)"
has "but with the others" "$(names)" calls_middle
check "record -g --max-graph-depth" quietly tc record -p function_graph -l 'calls_*' \
  -g calls_middle --max-graph-depth 1 -o t.dat sleep 0.2
recorded
same "-g and --max-graph-depth" "calls_middle / 0 " "$(names)/ $(levels)"
check "record -O" quietly tc record -p function_graph -l calls_leaf -O funcgraph-tail \
  -O nofuncgraph-duration -o t.dat sleep 0.2
recorded
same "calls with options" "calls_leaf " "$(names)"
check "record -p function" quietly tc record -p function -l 'calls_*' -n calls_leaf -o t.dat \
  sleep 0.2
report=$(trace-cmd report -i t.dat 2>/dev/null)
has "functions" "$report" ' function: +calls_middle'
same "but for -n" 0 "$(grep -c calls_leaf <<<"$report")"
check "record --func-stack" quietly tc record -p function -l calls_leaf --func-stack -o t.dat \
  sleep 0.2
has "stacks" "$(trace-cmd report -i t.dat 2>/dev/null)" '=> calls_middle'
check "record -B" quietly tc record -B blue -p function -l calls_middle -B red -p function_graph \
  -l calls_leaf -o t.dat sleep 0.2
report=$(trace-cmd report -i t.dat 2>/dev/null)
has "one tracer in an instance" "$report" 'blue: .* function: +calls_middle'
has "another in the other" "$report" 'red: .* funcgraph_entry: .*calls_leaf\(\);'

check "start -p" quietly tc start -p function_graph -l calls_middle -l calls_leaf
sleep 0.2
has "stat has the tracer" "$(tc stat 2>&1)" '^Tracer: function_graph'
has "and the filter" "$(tc stat 2>&1)" 'calls_middle'
check "stop" quietly tc stop
has "show" "$(tc show 2>&1)" '\|    calls_leaf\(\);$'
has "show has the header" "$(tc show 2>&1)" '^# tracer: function_graph$'
check "reset" quietly tc reset
same "reset leaves nothing" "nop/#### all functions enabled ####" \
  "$("$patchbay" cat $pid current_tracer)/$("$patchbay" cat $pid set_ftrace_filter)"
same "and records" 1 "$("$patchbay" cat $pid tracing_on)"
exec 7>&-
wait $pid
same "the program has ended well" 0 $?
finish
