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
check() { local what=$1; shift; if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=$((failures + 1)); fi; }
shows() {  # PATH TEXT: the file's whole text
  local text; text=$("$patchbay" cat $child "$1" 2>&1)
  [ "$text" = "$2" ] || { echo "    $1 is '$text', not '$2'"; return 1; }
}
w() { "$patchbay" write "$@" 2>err; }
refuses() { ! w "$@"; }

# A process that calls getenv for ever: a shell's test would not, perl's %ENV does not, printenv does.
cat >loop.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (;;) { getenv("PB_LOOP"); usleep(1000); } }
END
${CC:-cc} -O1 loop.c -o loop || { echo "no C compiler"; exit 77; }
LD_PRELOAD=$agent ./loop & child=$!
for _ in $(seq 200); do [ -S run/$child/ctl.sock ] && break; sleep 0.05; done

check "the socket is ours only" test "$(stat -c %a run/$child/ctl.sock)" = 600
check "the directory, too" test "$(stat -c %a run/$child)" = 700
check "the buffer, too" test "$(stat -c %a run/$child/buffer)" = 600
check "ls of the root" bash -c "'$patchbay' ls $child | grep -qx events/"
check "no events yet" shows available_events ""
check "events/enable of nothing" shows events/enable "?"
check "no directory of functions" bash -c "! '$patchbay' ls $child events/functions 2>/dev/null"
check "define" w $child function_events 'getenv(string name)'
check "it reads back" shows function_events "getenv(string name)"
check "its directory" bash -c "[ \"\$('$patchbay' ls $child events/functions/getenv | tr '\n' ' ')\" = 'enable format id ' ]"
check "twice is refused" refuses $child function_events 'getenv(string name)'
check "disabled" shows events/functions/getenv/enable 0
check "two lines, a comment and a blank one" w $child function_events $'# two\n\n  usleep(u32 us) # a comment\n'
check "both are there" shows available_events $'functions:getenv\nfunctions:usleep'
check "a later line fails" refuses $child function_events $'setenv(string name)\nsetenv(foo x)\nunsetenv(string name)'
check "the earlier one stays, the next is not executed" \
  shows available_events $'functions:getenv\nfunctions:usleep\nfunctions:setenv'
check "the error is shown" bash -c "'$patchbay' cat $child function_events | grep -q 'Unexpected token'"
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
for bad in '' ' 1' 2 -1 1x; do check "enable refuses '$bad'" refuses $child events/enable "$bad"; done
check "enable takes 01" w $child events/enable 01
sleep 0.3
check "events are counted" bash -c "for c in 0 1 2 3; do '$patchbay' cat $child per_cpu/cpu\$c/stats 2>/dev/null; done | grep -q 'entries: [1-9]'"
check "the format names the field" bash -c "'$patchbay' cat $child events/functions/getenv/format | grep -q '__data_loc char\[\] name'"
check "the thread's name is kept" bash -c "'$patchbay' cat $child saved_cmdlines | grep -qx '$child loop'"
check "tracing_on" shows tracing_on 1
check "off" w $child tracing_on 0
check "is off" shows tracing_on 0
check "any number is on" w $child tracing_on 17
check "is on" shows tracing_on 1
check "available_filter_functions" bash -c "'$patchbay' cat $child available_filter_functions | grep -q '^getenv \[libc'"
check "list functions" bash -c "'$patchbay' list functions -p $child 'getenv' | grep -q '^getenv '"
check "list functions --json" bash -c "'$patchbay' list functions -p $child --json getenv | python3 -c 'import json,sys; assert json.load(sys.stdin)[0][\"name\"] == \"getenv\"'"
check "list events --json" bash -c "'$patchbay' list events --json | python3 -c 'import json,sys; assert len(json.load(sys.stdin)) == 2'"
check "list processes --json" bash -c "'$patchbay' list processes --json | python3 -c 'import json,sys; p = json.load(sys.stdin); assert p[0][\"pid\"] == $child and p[0][\"state\"] == \"alive\"'"
check "debug/call_sites" bash -c "'$patchbay' cat $child debug/call_sites | grep -q getenv"
check "a file that is not there" bash -c "! '$patchbay' cat $child trace_nothing 2>err && grep -q 'no file' err"
check ".. is refused" bash -c "! '$patchbay' cat $child ../x 2>err"
check "a read-only file" refuses $child available_events x
check "everything off and cleared" bash -c "'$patchbay' write $child events/enable 0 && '$patchbay' write -t $child function_events ''"
check "nothing is left" shows available_events ""
check "no call site is patched" shows debug/call_sites ""
check "the process lives" kill -0 $child
kill -9 $child; wait $child 2>/dev/null
check "then it is gone" bash -c "! '$patchbay' cat $child tracing_on 2>err && grep -q 'does not exist' err"
check "its buffer is listed" bash -c "'$patchbay' list processes | grep -q ' dead '"
[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
