#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stacks behind records against gdb's: wherever a function can be met, at its entry and in its
# middle, each frame's address must be gdb's. Addresses are compared within their pages, since a
# program under gdb is loaded elsewhere. And what options and files say about stacks.
#   stacks.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gdb
gdb -q -batch -ex 'python print(1)' 2>/dev/null | grep -qx 1 || skip "gdb has no python"
program=$programs/stacks

# gdb_stacks PLACE : a line for each hit: page offsets of all frames that are on the stack. A signal
# returns elsewhere under the agent: "..." there.
gdb_stacks() {
  cat >"$work/gdb.py" <<PY
import gdb
class Hit(gdb.Breakpoint):
    def stop(self):
        frame, pages = gdb.newest_frame(), []
        while frame:
            if frame.type() == gdb.SIGTRAMP_FRAME:
                pages.append('...')
            elif frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                pages.append('%03x' % (frame.pc() & 0xfff))
            frame = frame.older()
        print('stack ' + ' '.join(pages), flush=True)
        return False
for line in ('set pagination off', 'set backtrace past-main on', 'set debuginfod enabled off',
             'handle SIGUSR1 nostop noprint pass'):
    gdb.execute(line)
Hit('*$1')
gdb.execute('run </dev/null')
PY
  gdb -q -batch -x "$work/gdb.py" "$program" 2>/dev/null | sed -n 's/^stack //p'
}
# start_stacks : runs the program up to its gate. Sets pid; descriptor 3 is its stdin.
start_stacks() {
  rm -f "$work/in"
  mkfifo "$work/in"
  LD_PRELOAD=$agent "$program" <"$work/in" >"$work/out" 3>&- &
  pid=$!
  started $pid
  exec 3>"$work/in"
  wait_for 20 "$patchbay" ls $pid || fail "the agent does not answer"
}
run_through() {
  echo >&3
  wait_for 60 grep -qx through "$work/out" || fail "the program does not come to its end"
  "$patchbay" cat $pid trace >"$work/trace"
}
end_stacks() {
  echo >&3
  exec 3>&-
  wait $pid
}
# Of `trace` with userstacktrace: a line for each stack, as gdb_stacks.
our_stacks() {
  awk '/<user stack trace>/ {if (s) print s; s = ""; inside = 1; next}
       inside && /^ => / {match($0, /[0-9a-f]+>/); h = substr($0, RSTART, RLENGTH - 1)
                          s = s (s ? " " : "") substr(h, length(h) - 2); next}
       {inside = 0}
       END {if (s) print s}' "$work/trace"
}
# same_stacks SENTENCE EXPECTED ACTUAL : line by line, "..." is any frame.
same_stacks() {
  local theirs ours
  same "$1: as many stacks" "$(wc -l <<<"$2")" "$(wc -l <<<"$3")"
  while IFS=: read -r theirs ours; do
    has "$1" "$ours" "^$theirs\$"
  done < <(paste -d: <(echo "$2") <(echo "$3"))
}
# compare_place DEFINITION GDB_PLACE SENTENCE
compare_place() {
  local expected
  expected=$(gdb_stacks "$2")
  start_stacks
  check "$3: probe" "$patchbay" write $pid kprobe_events "$1"
  check "$3: option" "$patchbay" write $pid options/userstacktrace 1
  check "$3: enable" "$patchbay" write $pid events/kprobes/enable 1
  run_through
  has "$3: gdb has seen it" "$expected" '^[0-9a-f]{3} '
  same_stacks "$3" "$expected" "$(our_stacks)"
  has "$3: how" "$(<"$work/trace")" '^# stack: [0-9]+ frames by \.eh_frame$'
  end_stacks
}

compare_place "p:here place" place "at a function's entry"
compare_place "p:here place+5" place+5 "in the middle"
compare_place "p:here leaf_place" leaf_place "in a leaf without a frame"

# Option stacktrace: names; the stack stands behind its record.
start_stacks
check "event" "$patchbay" write $pid function_events "leaf_place(int n)"
check "stacktrace" "$patchbay" write $pid options/stacktrace 1
check "enable" "$patchbay" write $pid events/functions/leaf_place/enable 1
run_through
has "names" "$(grep -A 3 '<stack trace>' "$work/trace")" '^ => leaf_place'
same "a stack for each record" "$(grep -c -- '->leaf_place(' "$work/trace")" \
  "$(grep -c '<stack trace>' "$work/trace")"
check "off" "$patchbay" write $pid options/stacktrace 0
end_stacks

# The stack tracer.
start_stacks
has "off: says how it is switched on" "$("$patchbay" cat $pid stack_trace)" 'Stack tracer disabled'
"$patchbay" write $pid stack_trace_filter 'leaf_place' || fail "stack_trace_filter"
same "the filter" "leaf_place" "$("$patchbay" cat $pid stack_trace_filter)"
check "on" "$patchbay" write $pid stack_tracer_enabled 1
run_through
deepest=$("$patchbay" cat $pid stack_trace)
has "the function" "$deepest" '^  0\) +[0-9]+ +[0-9]+   leaf_place\+0x'
has "its callers" "$deepest" '   place\+0x[0-9a-f]+/0x[0-9a-f]+$'
same "sizes add up" "$("$patchbay" cat $pid stack_max_size)" \
  "$(awk '/^ *[0-9]+\)/ {sum += $3} END {print sum}' <<<"$deepest")"
check "off again" "$patchbay" write $pid stack_tracer_enabled 0
end_stacks
finish
