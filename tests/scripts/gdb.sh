#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gdb attaches to a traced program, breaks in a traced function and lets it go on; the program ends
# as ever.
. "$(dirname "$0")/common.bash"
need gdb

PATCHBAY_FUNCTION_EVENTS='counted(int thread, long i)' PATCHBAY_TRACE_EVENT='functions:*' \
  LD_PRELOAD=$agent "$programs/shared_counter" "$work/counter" 2 1000 2>"$work/err" &
pid=$!
started "$pid"
calls() { od -An -t d8 -N 8 "$work/counter" 2>/dev/null; }
calls_come() { (($(calls) > 0)); }
check "the program runs" wait_for 60 calls_come
out=$(timeout 100 gdb -nx -q -batch -p $pid -ex 'set pagination off' -ex 'break counted' \
  -ex 'continue' -ex 'backtrace' -ex 'info registers rip' -ex 'continue 5' -ex 'delete' \
  -ex 'detach' 2>&1)
if grep -q 'ptrace: Operation not permitted' <<<"$out"; then skip "ptrace is not permitted here"; fi
has "the breakpoint is hit" "$out" 'Breakpoint 1, .*counted \(thread='
has "the backtrace reaches the caller" "$out" '#1 .* run \('
check "the program still runs after detach" kill -0 $pid
before=$(calls)
calls_more() { (($(calls) > before)); }
check "and still calls" wait_for 60 calls_more
kill -TERM $pid
wait $pid
same "it ends by its signal" 143 $?

# A program that gdb starts, with the agent in it.
out=$(timeout 100 gdb -nx -q -batch -ex 'set pagination off' \
  -ex "set environment LD_PRELOAD $agent" \
  -ex 'set environment PATCHBAY_FUNCTION_EVENTS work(int thread, long i)' \
  -ex 'set environment PATCHBAY_TRACE_EVENT functions:*' -ex 'set startup-with-shell off' \
  -ex 'break work' -ex 'run 1 100' -ex 'backtrace 2' -ex 'delete' -ex 'continue' \
  --args "$examples/threads" 2>&1)
has "started by gdb: breaks" "$out" 'Breakpoint 1.*work \('
has "started by gdb: runs to its end" "$out" 'hits 100'
has "started by gdb: exits" "$out" 'exited normally'

# gdb keeps every SIGTRAP for itself: the place is a hlt then, whose SIGSEGV it passes on.
out=$(timeout 100 gdb -nx -q -batch -ex 'set pagination off' \
  -ex "set environment LD_PRELOAD $agent" \
  -ex 'set environment PATCHBAY_FUNCTION_EVENTS thrice(int x)' \
  -ex 'set environment PATCHBAY_TRACE_EVENT functions:*' -ex 'set startup-with-shell off' \
  -ex 'handle SIGSEGV nostop noprint pass' -ex 'set follow-fork-mode parent' -ex 'run' \
  --args "$programs/stepped" 2>&1)
has "started by gdb: who debugs is told" "$out" 'a debugger traces this program'
has "started by gdb: an int3 changes no result" "$out" 'stepped: 30 before, 30 stepped'
finish
