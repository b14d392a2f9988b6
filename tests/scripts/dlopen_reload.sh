#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A library that is loaded again and again, to the same address, to another one, and while another
# library lies where it was: whatever records a function of it records every call of each load,
# those of its constructor and destructor too; and nothing is written into the other library.
#   dlopen_reload.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
cd "$work" || exit
program=$programs/dlopen_reload
calls=$((5 * 13))
truth='same place 3, moved 1, another in its place 1, untouched 1, good 5, fine 1'
same "alone" "$truth" "$("$program")"

# Events of the recording whose line has REGEX.
recorded() { "$patchbay" report -i t.dat 2>/dev/null | grep -cE -- "$1"; }
# run NAME REGEX OPTION… : all calls are in the recording.
run() {
  local name=$1 regex=$2
  shift 2
  "$patchbay" record -o t.dat "$@" -- "$program" >out 2>err
  same "$name: exit status" 0 $?
  same "$name: output" "$truth" "$(cat out)"
  same "$name: calls" $calls "$(recorded "$regex")"
}
# A trace.dat has one name for an address: that of the library which lay there last.
called='->reload_(work|idle)\('
run 'function event' "$called" -e 'reload_so:reload_work(int n)'
run 'probe' ' w: ' -e 'p:w reload_so:reload_work n=%di:s32'
run 'return probe' ' w: ' -e 'r:w reload_so:reload_work $retval'
run 'function probe' ' w: ' -e 'f:w reload_so:reload_work'
run 'function' 'reload_(work|idle)' -t function -l 'reload_work:mod:reload_so*'
run 'function_graph' 'funcgraph_entry: .*reload_(work|idle)\(\)' -t function_graph \
  -l 'reload_work:mod:reload_so*'
# By variables.
PATCHBAY_FUNCTION_EVENTS='reload_so:reload_work(int n)' LD_PRELOAD=$agent "$program" >out 2>err
same "variable: output" "$truth" "$(cat out)"
same "variable: nothing is said" "" "$(cat err)"
"$patchbay" recover "$PATCHBAY_DIR" -o t.dat >recover.out 2>&1
same "variable: calls" $calls "$(recorded "$called")"

# While it is gone: nothing says that something is on there, and events can be switched.
mkfifo line
rm -rf "${PATCHBAY_DIR:?}"/*
PATCHBAY_FUNCTION_EVENTS='reload_so:reload_work(int n)' \
  PATCHBAY_KPROBE_EVENT='p:w,reload_so:reload_work' LD_PRELOAD=$agent \
  "$program" reload_so.so hold <line >out 2>err &
pid=$!
started $pid
exec 7>line
of() { "$patchbay" cat $pid "$1"; }
# shellcheck disable=SC2317  # called by wait_for
is_gone() {
  of function_events | grep -q ' # waits for the library reload_so$' &&
    [[ $(of trace | grep -c ' w: ') == 13 ]]
}
check "it waits" wait_for 20 is_gone
same "debug/call_sites" "" "$(of debug/call_sites)"
same "kprobes/list" "" "$(of kprobes/list)"
for event in kprobes/w functions/reload_work; do
  check "$event off" "$patchbay" write $pid events/$event/enable 0
  check "$event on" "$patchbay" write $pid events/$event/enable 1
done
has "names of what is gone" "$(of trace)" 'reload_calls->reload_work\(n=9\)'
echo >&7
wait $pid
same "held: exit status" 0 $?
same "held: output" "$truth" "$(cat out)"
"$patchbay" recover "$PATCHBAY_DIR" -o t.dat >recover.out 2>&1
same "held: calls" $calls "$(recorded "$called")"
same "held: hits" $calls "$(recorded ' w: ')"

# A library named p1 is no probe with a number.
cp "$programs/reload_so.so" "$work/p1.so"
"$patchbay" record -o t.dat -e 'p1:reload_work(int n)' -- "$program" "$work/p1.so" >out 2>err
same "library p1: calls" $calls "$(recorded "$called")"
# What never comes is said; what nobody can mean is refused.
"$patchbay" record -o t.dat -e 'no_such_lib:f(int n)' -- "$program" >out 2>err
same "never loaded: exit status" 0 $?
has "never loaded: is said" "$(cat err)" 'no library no_such_lib was ever loaded'
"$patchbay" record -o t.dat -e 'no_such_function_here(int n)' -- "$program" >out 2>err
check "plain name: refused" test $? -ne 0
has "plain name: is said" "$(cat err)" 'no function "no_such_function_here"'
finish
