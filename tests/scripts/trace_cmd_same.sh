#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's trace-cmd prints the same events, values and order from our file as patchbay report does.
. "$(dirname "$0")/common.bash"
need trace-cmd python3

compare() {
  local name=$1
  shift
  "$patchbay" record -b 8192 -o "$work/$name.dat" "$@" >/dev/null 2>"$work/err"
  "$patchbay" report -i "$work/$name.dat" 2>/dev/null | "$here/normalise_report" >"$work/ours"
  trace-cmd report -i "$work/$name.dat" 2>"$work/trace-cmd.err" |
    "$here/normalise_report" >"$work/theirs"
  check "$name: there are events" test -s "$work/ours"
  same "$name: trace-cmd has nothing to complain of" "" "$(grep -v '^cpus=' "$work/trace-cmd.err")"
  checks=$((checks + 1))
  if ! diff "$work/ours" "$work/theirs" >"$work/diff"; then
    fail "$name: patchbay report (<) and trace-cmd report (>) differ"
    grep -c '^[<>]' "$work/diff"
    head -n 6 "$work/diff"
  fi
}

compare threads -e 'work(int thread, long i)' -- "$examples/threads" 4 5000
compare irq -e 'do_irq(symbol ip[16] | x64[6] irq_stack[16])' -- "$examples/irq_stack"
compare file_ops -e 'vfs_read_(symbol read+40[0]+16)' -- "$examples/file_ops"
compare openat -e 'openat(int dfd, string path, x32 flags, x16 mode)' -- "$examples/open_files"
compare calls -e 'two_numbers(int a, u8 b)' -e 'a_string(string s | char[6] head[0])' \
  -e 'eight_arguments(s8 a, x8 b, u16 c, NULL, unsigned long e, short f)' -- "$programs/calls"
# The older file version.
if "$patchbay" record -h 2>&1 | grep -q -- --format; then
  compare v6 --format 6 -e 'work(int thread, long i)' -- "$examples/threads" 2 100
fi
finish
