#!/bin/bash
# SPDX-License-Identifier: MIT
# The tracefs tree of a running process, through patchbay cat, write, ls and list. $1: the build.
set -u
patchbay=$1/bin/patchbay
agent=$1/lib/libpatchbay.so
[ -x "$patchbay" ] && [ -e "$agent" ] || { echo "no tool or agent in $1"; exit 77; }
work=$(mktemp -d); child=
trap '[ -n "$child" ] && kill $child 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" && export PATCHBAY_DIR=$work/run
failures=0
check() {
  local what=$1; shift
  if "$@"; then echo "ok: $what"; return; fi
  echo "FAILED: $what"
  failures=$((failures + 1))
}
shows() {  # PATH TEXT: the file's whole text
  local text; text=$("$patchbay" cat $child "$1" 2>&1)
  [ "$text" = "$2" ] || { echo "    $1 is '$text', not '$2'"; return 1; }
}
w() { "$patchbay" write "$@" 2>err; }
refuses() { ! w "$@"; }
has() { "$patchbay" cat $child "$1" | grep -q -- "$2"; }  # PATH REGEX
lists() { "$patchbay" ls $child "$1" 2>err | grep -qx -- "$2"; }  # DIRECTORY NAME
json() {
  "$patchbay" list "${@:2}" |
    python3 -c "import json, sys; d = json.load(sys.stdin); assert $1"
}
cannot_cat() { ! "$patchbay" cat $child "$1" 2>err && grep -q "$2" err; }
counted() { cat_all_stats | grep -q 'entries: [1-9]'; }
cat_all_stats() {
  for c in $(seq 0 $(($(nproc) - 1))); do "$patchbay" cat $child per_cpu/cpu$c/stats; done
}
all_off() { w $child events/enable 0 && w -t $child function_events ''; }

# A process that calls getenv for ever.
cat >loop.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (;;) { getenv("PB_LOOP"); usleep(1000); } }
END
${CC:-cc} -O1 loop.c -o loop || { echo "no C compiler"; exit 77; }
LD_PRELOAD=$agent ./loop & child=$!
for _ in $(seq 1200); do [ -S run/$child/ctl.sock ] && break; sleep 0.05; done

check "the socket is ours only" test "$(stat -c %a run/$child/ctl.sock)" = 600
check "the directory, too" test "$(stat -c %a run/$child)" = 700
check "the buffer, too" test "$(stat -c %a run/$child/buffer)" = 600
check "ls of the root" lists "" events/
check "the process by -p" test "$("$patchbay" cat -p $child tracing_on)" = 1
check "for ls" bash -c '"$0" ls --pid "$1" events | grep -qx enable' "$patchbay" $child
check "for write" w -p $child tracing_on 1
check "the process as a word, where -p is known" \
  bash -c '"$0" stat "$1" | grep -q "^Tracing on: 1"' "$patchbay" $child
check "for list" json 'd == []' events --json $child
check "no events yet" shows available_events ""
check "events/enable of nothing" shows events/enable "?"
check "the system of function events is there" \
  test "$("$patchbay" ls $child events/functions | xargs)" = "enable filter"
check "define" w $child function_events 'getenv(string name)'
check "it reads back" shows function_events "getenv(string name)"
for name in enable format id; do check "its $name" lists events/functions/getenv $name; done
check "twice is refused" refuses $child function_events 'getenv(string name)'
check "disabled" shows events/functions/getenv/enable 0
check "two lines, a comment and a blank one" \
  w $child function_events $'# two\n\n  usleep(u32 us) # a comment\n'
check "both are there" shows available_events $'functions:getenv\nfunctions:usleep'
check "a later line fails" \
  refuses $child function_events $'setenv(string name)\nsetenv(foo x)\nunsetenv(string name)'
check "the earlier one stays, the next is not executed" \
  shows available_events $'functions:getenv\nfunctions:usleep\nfunctions:setenv'
check "the error is shown" has function_events 'Unexpected token'
check "one is removed" w $child function_events '!setenv'
check "enable one" w $child events/functions/getenv/enable 1
check "X: some" shows events/enable X
check "clearing is EBUSY" refuses -t $child function_events ''
check "set_event shows it" shows set_event functions:getenv
check "set_event, two words" w $child set_event functions:usleep '!functions:getenv'
check "each was taken" shows set_event functions:usleep
check "set_event with no such event" refuses $child set_event nosuch:event
check "set_event takes no pattern" refuses $child set_event 'functions:us*'
check "all" w $child events/enable 1
check "1: all" shows events/functions/enable 1
for bad in '' ' 1' 2 -1 1x; do
  check "enable refuses '$bad'" refuses $child events/enable "$bad"
done
check "enable takes 01" w $child events/enable 01
for _ in $(seq 600); do counted && break; sleep 0.1; done
check "events are counted" counted
check "the format names the field" has events/functions/getenv/format '__data_loc char\[\] name'
check "the thread's name is kept" has saved_cmdlines "^$child loop$"
check "tracing_on" shows tracing_on 1
check "off" w $child tracing_on 0
check "is off" shows tracing_on 0
check "any number is on" w $child tracing_on 17
check "is on" shows tracing_on 1
check "available_filter_functions" has available_filter_functions '^getenv \[libc'
check "list functions" test -n "$("$patchbay" list functions -p $child getenv)"
check "list functions --json" json 'd[0]["name"] == "getenv"' functions -p $child --json getenv
check "list events --json" json 'len(d) == 2' events --json
check "list processes --json" json "d[0]['pid'] == $child and d[0]['state'] == 'alive'" \
  processes --json
check "debug/call_sites" has debug/call_sites getenv
check "a file that is not there" cannot_cat trace_nothing 'no file'
check ".. is refused" cannot_cat ../x '\.\.'
check "a read-only file" refuses $child available_events x
check "everything off and cleared" all_off
check "nothing is left" shows available_events ""
check "no call site is patched" shows debug/call_sites ""
# An event can have a name of its own; function events are dynamic events.
check "an event with a name" w $child function_events 'first=getenv(string name)'
check "another one of the function" w $child function_events 'getenv(x64 p)'
check "as a header has it" w $child dynamic_events 'second=getenv(const char *name)'
lines=$'first=getenv(string name)\ngetenv(x64 p)\nsecond=getenv(string name)'
check "each is listed" shows function_events "$lines"
check "among the dynamic events, too" shows dynamic_events "$lines"
check "they are events" shows available_events \
  $'functions:first\nfunctions:getenv\nfunctions:second'
check "a name that is taken" refuses $child function_events 'first=usleep(u32 us)'
check "all record" w $child events/functions/enable 1
for text in 'getenv(name=PB_LOOP)' 'getenv(p='; do
  for _ in $(seq 600); do has trace "$text" && break; sleep 0.1; done
done
check "the texts" has trace 'getenv(name=PB_LOOP)'
check "the pointers" has trace 'getenv(p='
check "dynamic_events is busy" refuses -t $child dynamic_events ''
check "so is each" refuses $child dynamic_events '-:functions/first'
check "all off again" w $child events/functions/enable 0
check "one goes by dynamic_events" w $child dynamic_events '-:functions/first'
check "one goes by its line" w $child dynamic_events '!second=getenv(string name)'
check "its records can still be read" has trace 'getenv(name=PB_LOOP)'
check "one goes by -:NAME" w $child function_events '-:getenv'
check "none is left" shows dynamic_events ''
check "what is listed can be written" w $child dynamic_events "$lines"
check "and goes at once" w -t $child dynamic_events ''
check "nothing is left of it" shows function_events ''
check "-:functions/NAME of none" refuses $child dynamic_events '-:functions/first'

# What is wrong stands in error_log, under the right character.
logs() {  # FILE LINE CARET TEXT: the line is refused, and error_log ends with it
  w -t $child error_log ''
  refuses $child "$1" "$2" || return 1
  local command="  Command: $2"
  [ "$("$patchbay" cat $child error_log | tail -n 2)" = "$command
$(printf '%*s^' $((11 + $3)) '')" ] || { "$patchbay" cat $child error_log; return 1; }
  "$patchbay" cat $child error_log | head -n 1 | grep -q -- "$4" ||
    { "$patchbay" cat $child error_log; return 1; }
}
check "an unknown function" logs function_events 'getenvv(x64 p)' 0 \
  'function_events: error: no function "getenvv".*did you mean getenv'
check "behind a name" logs function_events 'x=libc:getenvv(x64 p)' 2 'did you mean getenv'
check "a record that is too large" logs function_events 'getenv(x64[600] p)' 0 'could need .* bytes'
check "an unknown type" logs function_events 'libc:getenv(itn p)' 12 'did you mean int?'
check "a return type" logs function_events 'x64 getenv(x64 p)' 4 'int NAME = FUNCTION'
check "a place without code" logs kprobe_events 'p:g/x 0' 6 \
  'Failed to register probe event: there is no code'
check "an unknown place" logs kprobe_events 'p:g/x libc:getenvv' 6 'did you mean getenv'
check "a parameter's name" logs kprobe_events 'p:g/x libc:getenv name' 18 \
  'BTF is not available or not supported: .*patchbay probe'
check "a register" logs dynamic_events 'p libc:getenv a=+8(%axx)' 19 'did you mean %ax?'
w $child function_events 'words=getenv(x64[3] p)'
check "a histogram of an array" logs events/functions/words/trigger 'hist:keys=p' 10 \
  'neither a number nor a text'
w $child function_events '!words'
refuses $child function_events 'libc:getenv(itn p)'
check "write points at it, too" test "$(head -n 3 err | tail -n 2)" = "libc:getenv( itn p)
             ^"
check "the process lives" kill -0 $child
kill -9 $child; wait $child 2>/dev/null
check "then it is gone" cannot_cat tracing_on 'does not exist'
check "its buffer is listed" grep -q ' dead ' <("$patchbay" list processes)
[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
