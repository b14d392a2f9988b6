#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shortest walk through the product: record a program, report it, count.
. "$(dirname "$0")/common.bash"

out=$("$patchbay" record -o "$work/t.dat" -e 'work(int thread, long i)' \
  -- "$examples/threads" 2 500 2>"$work/err")
same "the program's exit status" 0 $?
same "the program's output" "hits 1000" "$out"
has "a closing line with the count" "$(cat "$work/err")" '1000 events'
same "events in the file" 1000 "$(count_of "$work/t.dat" work)"
has "values" "$(events_of "$work/t.dat")" 'call_often.*->work\(thread=1, i=499\)'
"$patchbay" record -o "$work/s.dat" -e 'malloc(size_t n)' -- sh -c 'exit 42' 2>/dev/null
same "the exit status is passed on" 42 $?
finish
