#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One binary, traced by uftrace and by function_graph: both count the same calls, those of the
# program itself. Functions that end by longjmp are left out: uftrace does not count them.
#   uftrace_same.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need uftrace g++
g++ -O2 -g -fpatchable-function-entry=5 "$here/../programs/graph_calls.cc" -o "$work/calls" \
  -lpthread || skip "the program cannot be built for uftrace"
cd "$work" || exit
uftrace record --no-pager -P '^calls_' -d uf ./calls >own 2>uf.err ||
  skip "uftrace does not run here: $(tail -n 1 uf.err)"
# "NAME CALLS" lines, sorted.
theirs=$(uftrace report --no-pager -d uf -f call 2>/dev/null |
  awk '$2 ~ /^calls_/ && $2 != "calls_jump" { print substr($2, 7), $1 }' | sort)
"$patchbay" record -q -p function_graph -l 'calls_*' -- ./calls >own2 2>err
ours=$("$patchbay" graph --flat 2>/dev/null |
  awk '$NF ~ /^calls_/ && $NF != "calls_jump" { print substr($NF, 7), $5 }' | sort)
own=$(grep -v '^jump ' own | sort)
same "function_graph counts what the program has counted" "$own" "$ours"
same "uftrace does, too" "$own" "$theirs"
same "the program did the same in both runs" "$(cat own)" "$(cat own2)"
finish
