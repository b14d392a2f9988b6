#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tool's side of the function tracers: record -p, graph, replay, report --folded and --flame,
# against calls that the program has counted itself.
#   graph_tool.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit
program=$programs/graph_calls
# calls FILE : "NAME CALLS" of graph --flat, sorted.
calls() {
  "$patchbay" graph -i "$1" --flat 2>/dev/null |
    awk '$NF ~ /^calls_/ { print substr($NF, 7), $5 }' | sort
}

# --- function_graph: the program's own counts
"$patchbay" record -o g.dat -t function_graph -l 'calls_*' -- "$program" >own 2>err
same "the status is the program's" 0 $?
has "nothing is lost" "$(cat err)" 'record: .* lost 0 '
own=$(sort own)
same "all calls are in the file" "$own" "$(calls g.dat)"
"$patchbay" graph -i g.dat >tree 2>notes
has "what was open at the end is said" "$(cat notes)" '2 calls open at the end'
has "what was thrown or jumped over is said" "$(cat notes)" '^patchbay graph: 10 calls ended'
tree=$(cat tree)
has "the outermost call" "$tree" '  calls_outer$'
has "calls below it" "$tree" '  \+- calls_end$'
has "recursion is a longer path" "$tree" '  \|? *\|? *\|? *\+- calls_recurse$'
has "leaves of threads" "$tree" ' 450 .*  \|  \+- calls_leaf$| 450 .*     \+- calls_leaf$'
has "callers upside down" "$("$patchbay" graph -i g.dat --callers 'calls_leaf' 2>/dev/null)" \
  ' 450 .*\+- calls_thread$'
has "ways to a function" "$("$patchbay" graph -i g.dat calls_throw 2>/dev/null)" \
  '4 calls  calls_catch > calls_pass > calls_throw$'
same "one tree a thread" 3 \
  "$("$patchbay" graph -i g.dat --per-thread 2>/dev/null | grep -c '^# thread: graph_calls-')"
passes() { "$patchbay" graph -i g.dat -D "$1" calls_catch 2>/dev/null | grep -c '+- calls_pass$'; }
same "-D cuts" "0 1" "$(passes 1) $(passes 2)"
"$patchbay" graph -i g.dat calls_leef 2>near >/dev/null
same "a function that was not called" 1 $?
has "is named with near ones" "$(cat near)" 'near: .*calls_leaf'

# --- replay: as many ends as beginnings
"$patchbay" replay -i g.dat >replay 2>/dev/null
total=$(awk '{ sum += $2 } END { print sum }' own)
same "each call is a line" "$total" "$(grep -cE 'calls_[a-z]*\(\)(;| \{)' replay)"
same "each block ends" "$(grep -c '() {$' replay)" "$(grep -cE '\| +\} /\*' replay)"
has "leaves have a time" "$(cat replay)" '^ *[0-9.]+ us \[ *[0-9]+\] \|     calls_leaf\(\);$'
has "an exception" "$(cat replay)" '/\* (calls_pass, )?no return \*/|calls_pass \*/'
has "exit" "$(cat replay)" '\} /\* calls_outer, open at the end \*/$'
same "-F" "$(awk '$1 == "middle" || $1 == "leaf" { n += $2 } END { print n - 6 }' own)" \
  "$("$patchbay" replay -i g.dat -F calls_middle 2>/dev/null | grep -cE '\(\)(;| \{)')"
same "-N" 0 "$("$patchbay" replay -i g.dat -N calls_middle 2>/dev/null | grep -c calls_middle)"
same "-D" 0 "$("$patchbay" replay -i g.dat -D 1 2>/dev/null | grep -c '| \+ calls')"

# --- folded stacks and the flame graph: the same time as the outermost calls
"$patchbay" report -i g.dat --folded --flame g.svg >folded 2>/dev/null
has "folded stacks" "$(cat folded)" '^calls_thread;calls_middle;calls_leaf [0-9]+$'
cat >svg.py <<'EOP'
import sys, xml.etree.ElementTree as tree
root = tree.parse("g.svg").getroot()
ns = "{http://www.w3.org/2000/svg}"
frames = {}
for group in root.iter(ns + "g"):
    if group.get("class") != "f": continue
    name = group.find(ns + "title").text.rsplit(" (", 1)[0]
    frames.setdefault(name, []).append(group.find(ns + "rect"))
folded = sum(int(line.rsplit(" ", 1)[1]) for line in open("folded"))
print("total", int(root.get("data-total")) == folded == int(frames["all"][0].get("data-w")))
inner = sum(int(rect.get("data-w")) for rect in frames["calls_leaf"])
outer = sum(int(rect.get("data-w")) for rect in frames["calls_thread"])
print("nested", 0 < inner and 0 < outer < folded)
print("script", root.find(ns + "script") is not None and "href" not in open("g.svg").read())
EOP
same "the flame graph is whole, and needs nothing else" "total True nested True script True " \
  "$(python3 svg.py 2>&1 | tr '\n' ' ')"

# --- function, and which functions
"$patchbay" record -q -o f.dat -t function -l 'calls_*' -N calls_leaf -- "$program" >/dev/null 2>err
same "function: one record a call, but for -n" \
  "$(awk '$1 != "leaf" { sum += $2 } END { print sum }' own)" \
  "$("$patchbay" report -i f.dat --stat 2>/dev/null | awk '$2 == "ftrace:function" { print $1 }')"
has "a flame graph of callers" "$("$patchbay" report -i f.dat --folded 2>/dev/null)" \
  '^calls_thread;calls_middle 150$'
"$patchbay" record -q -o d.dat -t function_graph -l 'calls_*' -g calls_middle \
  --max-graph-depth 1 -- "$program" >/dev/null 2>err
same "-g and --max-graph-depth" "middle 160" "$(calls d.dat)"
"$patchbay" record -q -o two.dat -B one -t function_graph -l calls_leaf -B two -t function \
  -l calls_middle -- "$program" >/dev/null 2>err
same "an instance each: function_graph" "$(grep '^leaf ' own)" "$(calls two.dat)"
same "an instance each: function" 160 \
  "$("$patchbay" report -i two.dat --stat 2>/dev/null | awk '$2 == "ftrace:function" { print $1 }')"
"$patchbay" record -q -o c.dat -t function_graph -l 'shapes::area' -l 'shapes::Stack<int>::*' -- \
  "$examples/cpp_shapes" >/dev/null 2>err
same "C++ names" 0 $?
has "C++ functions" "$("$patchbay" graph -i c.dat --flat 2>/dev/null)" \
  ' 100 .* shapes::Stack<int>::push$'

# --- the program's own functions; a library that never comes
"$patchbay" record -q -o m.dat -t function_graph -l ':mod:!*' -- "$program" >own 2>err
same "the program's own" "$(sort own)" "$(calls m.dat)"
same "and no library's" 0 "$("$patchbay" graph -i m.dat --flat 2>/dev/null | grep -c ' malloc$')"
same "nothing to say of it" "" "$(cat err)"
for own in ':mod:graph_calls' 'graph_calls:*'; do
  "$patchbay" record -q -o m.dat -t function_graph -l "$own" -- "$program" >own 2>err
  same "$own" "$(sort own)" "$(calls m.dat)"
done
"$patchbay" record -q -o m.dat -t function -l ':mod:libnowhere' -- "$program" >own 2>err
same "a library that is not there: the program runs" 0 $?
has "that is said" "$(cat err)" "-l ':mod:libnowhere': no such library is loaded yet"

# --- mistakes: the program must not run
"$patchbay" record -q -o no.dat -t function -l 'calls_leef' -- "$program" >out 2>err
same "a function that nothing matches" 1 $?
has "near ones" "$(cat err)" "-l 'calls_leef'.*did you mean .*calls_leaf"
"$patchbay" record -q -o no.dat -t functoin -l 'calls_leaf' -- "$program" >>out 2>err
same "an unknown tracer" 1 $?
has "the ones that there are" "$(cat err)" "functoin.*function_graph"
"$patchbay" record -q -o no.dat -t function -O nonsense -- "$program" >>out 2>err
same "an unknown option" 1 $?
"$patchbay" record -q -o no.dat -l 'calls_leaf' -e 'getenv(string name)' -- "$program" >>out 2>err
same "functions without a tracer" 2 $?
same "the program has not run" "" "$(cat out)"

# --- a running process: recorded, and left as it was found
mkfifo input
LD_PRELOAD=$agent "$program" stay <input >live.own 2>live.err &
pid=$!
started $pid
exec 7>input
wait_for 20 "$patchbay" cat $pid current_tracer || fail "the process has no agent"
"$patchbay" write $pid set_ftrace_filter calls_recurse
"$patchbay" record -p $pid -t function_graph -l 'calls_middle' -l calls_leaf -o live.dat \
  >out 2>err &
recorder=$!
started $recorder
traces() {
  [[ $("$patchbay" cat $pid instances/patchbay-$recorder-1/current_tracer) == function_graph ]]
}
check "the tracer runs" wait_for 60 traces
# recorded N : so many events came into the rings, read or not.
recorded() {
  local file of="instances/patchbay-$recorder-1/per_cpu" stats=""
  for file in $("$patchbay" ls $pid "$of"); do
    stats+=$("$patchbay" cat $pid "$of/${file%/}/stats")$'\n'
  done
  (($(awk '/^entries: / { n += $2 } /^read events: / { n += $3 } END { print n + 0 }' \
    <<<"$stats") >= $1))
}
check "events come" wait_for 60 recorded 400
kill -INT $recorder
wait $recorder
same "record -P" 0 $?
has "middle and leaf" "$(calls live.dat)" '^middle [0-9]{2}'
same "only these" "leaf middle" "$(calls live.dat | cut -d' ' -f1 | tr '\n' ' ' | sed 's/ $//')"
read -r _ leaf <<<"$(calls live.dat | grep ^leaf)"
read -r _ middle <<<"$(calls live.dat | grep ^middle)"
# But for the call in which recording began, and the one in which it ended.
check "three leaves a call ($middle, $leaf)" test $((3 * middle - leaf)) -le 3 -a \
  $((leaf - 3 * middle)) -le 3
same "the tracer is off again" nop "$("$patchbay" cat $pid current_tracer)"
same "the filter is what it was" calls_recurse "$("$patchbay" cat $pid set_ftrace_filter)"
same "recording is on" 1 "$("$patchbay" cat $pid tracing_on)"
exec 7>&-
wait $pid
same "the process has ended well" 0 $?
finish
