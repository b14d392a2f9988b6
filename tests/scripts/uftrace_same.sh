#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One binary, traced by uftrace and by function_graph: both count the same calls, those of the
# program itself, on the same paths, and replay a thread alike. What calls of longjmp is left out:
# uftrace takes what comes behind one for a part of what was jumped out of.
#   uftrace_same.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need uftrace g++ python3
g++ -O2 -g -fpatchable-function-entry=5 "$here/../programs/graph_calls.cc" -o "$work/calls" \
  -lpthread || skip "the program cannot be built for uftrace"
cd "$work" || exit
uftrace record --no-pager -P '^calls_' -d uf ./calls >own 2>uf.err ||
  skip "uftrace does not run here: $(tail -n 1 uf.err)"
# "NAME CALLS" lines, sorted.
theirs=$(uftrace report --no-pager -d uf -f call 2>/dev/null |
  awk '$2 ~ /^calls_/ && $2 != "calls_jump" { print substr($2, 7), $1 }' | sort)
"$patchbay" record -q -t function_graph -l 'calls_*' -- ./calls >own2 2>err
ours=$("$patchbay" graph --flat 2>/dev/null |
  awk '$NF ~ /^calls_/ && $NF != "calls_jump" { print substr($NF, 7), $5 }' | sort)
own=$(grep -v '^jump ' own | sort)
same "function_graph counts what the program has counted" "$own" "$ours"
same "uftrace does, too" "$own" "$theirs"
same "the program did the same in both runs" "$(cat own)" "$(cat own2)"

# "a>b>c CALLS" of both graphs (uftrace's without the calls of libraries).
uftrace record --no-pager --no-libcall -P '^calls_' -d alone ./calls >/dev/null 2>&1
cat >paths.py <<'EOP'
import re, sys
theirs, paths, stack = sys.argv[1] == "uftrace", {}, []
for line in sys.stdin:
    # uftrace: a lone callee stands in the column of its caller, others three behind it, with +-.
    # patchbay: each level is three columns.
    found = (re.match(r"[^:]*: ([ |]*)(\+-)?\((\d+)\) (\S+)$", line) if theirs else
             re.match(r" *\S+ .s +\S+ .s +(\d+) +(?:\S+ .s +){2}\S+ .s  ([ |]*)(\+- )?(\S+)$",
                      line))
    if not found: continue
    if theirs:
        blanks, branch, calls, name = found.groups()
        column = len(blanks) + len(branch or "")
        if branch: stack = [node for node in stack if node[0] < column]
    else:
        calls, blanks, branch, name = found.groups()
        column = len(blanks) + len(branch or "")
        stack = [node for node in stack if node[0] < column]
    stack.append((column, name))
    names = [node[1] for node in stack]
    if theirs: names = names[1:]  # the program
    if names and names[0] not in ("calls_set", "calls_outer"):
        path = ">".join(names)
        paths[path] = paths.get(path, 0) + int(calls)
for path in sorted(paths): print(path, paths[path])
EOP
theirs=$(uftrace graph --no-pager -d alone 2>/dev/null | python3 paths.py uftrace)
ours=$("$patchbay" graph 2>/dev/null | python3 paths.py patchbay)
has "there are paths" "$ours" '^calls_thread>calls_middle>calls_leaf 450$'
same "the same calls on the same paths" "$theirs" "$ours"
# Each thread's replay, but for its times.
tids() { sed -nE 's/.*\[ *([0-9]+)\] \| calls_thread\(.*/\1/p' | sort -u; }
replayed() {
  sed -nE 's/^.*\| ( *)(calls_[a-z]+\(\)(;| \{)|\} \/\* calls_[a-z]+ \*\/).*/\1\2/p'
}
their_replay() { uftrace replay --no-pager -d alone "$@" 2>/dev/null; }
# shellcheck disable=SC2120  # threads gives it some
our_replay() { "$patchbay" replay "$@" 2>/dev/null; }
# How many lines of which sum a thread has, smallest first.
threads() {
  local tid
  for tid in $("$1" | tids); do "$1" --tid "$tid" | replayed | cksum; done | sort -n -k2
}
same "two threads" 2 "$(threads our_replay | wc -l)"
has "with calls" "$(our_replay | replayed)" '^    calls_leaf\(\);$'
same "both are replayed alike" "$(threads their_replay)" "$(threads our_replay)"
finish
