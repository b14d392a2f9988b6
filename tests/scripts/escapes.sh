#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No text of a traced program commands the terminal or makes a line of its own: a program whose
# path, arguments, name, symbols and files have escape sequences, bells, quotes and newlines, and
# each command that shows them, on a terminal.
. "$(dirname "$0")/common.bash"
need gcc objcopy python3
export PATCHBAY_PAGER=cat

cat >"$work/odd.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
__attribute__((noinline)) long note(const char* text, long n) {
  __asm__ volatile("" : "+r"(n) : "r"(text) : "memory");
  return n;
}
__attribute__((noinline)) int plain(int n) {
  __asm__ volatile("" : "+r"(n));
  return n;
}
int main(int argc, char** argv) {
  prctl(PR_SET_NAME, "c\033[31m\a\nX");
  char text[] = "=red \033[31m bell \a line\nROW false";
  const int rounds = argc > 1 ? 3 : 20000;
  for (int i = 0; i < rounds; i++) {
    note(text, plain(i));
    if (argc < 2) usleep(2000);
  }
  return strlen(argv[0]) == 0;
}
C
odd=$work/$'a"b\nROW  false\033[31m\a'
gcc -O1 -g -c -o "$work/odd.o" "$work/odd.c" || exit 1
objcopy --redefine-sym plain=$'fn\033[31m\a' "$work/odd.o" && gcc -o "$odd" "$work/odd.o" || exit 1
event='note(string text, long n)'
"$odd" & pid=$!
started $pid

cat >"$work/terminal.py" <<'PYTHON'
import os, pty, sys, termios
def read(fd):
    return os.read(fd, 65536)
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read)))
PYTHON
# shown NAME COMMAND… : on a terminal. The texts are there, and harmless.
shown() {
  local name=$1
  shift
  timeout -s INT -k 5 20 python3 "$work/terminal.py" "$patchbay" --color=never "$@" \
    >"$work/out" 2>&1 </dev/null
  check "$name: something is shown" test -s "$work/out"
  harmless "$name"
}
harmless() {
  same "$1: no text of the program commands the terminal" "" \
    "$(grep -aE $'\033\\[31m|\a' "$work/out" | head -n 3 | cat -v)"
  same "$1: its path makes no line" "" "$(grep -aE '^ROW  false' "$work/out" | head -n 3)"
}
# told NAME STATUS COMMAND… : the same of what is printed to files, errors too.
told() {
  local name=$1 expected=$2
  shift 2
  timeout -s INT -k 5 20 "$patchbay" --color=never "$@" >"$work/out" 2>&1 </dev/null
  same "$name: status" "$expected" $?
  harmless "$name"
}

shown attach attach $pid
has "the path is named" "$(<"$work/out")" 'a"b\\nROW  false\\x1b\[31m\\x07'
"$patchbay" write $pid function_events "$event"$'\n' || fail "the event cannot be defined"
"$patchbay" write $pid events/functions/enable 1
has_events() { "$patchbay" cat $pid trace | grep -aq 'note('; }
wait_for 10 has_events || fail "there are no events"
while read -r name words; do
  # shellcheck disable=SC2086  # several words
  set -f
  shown "$name" $words
  set +f
done <<TABLE
cat        cat $pid trace
show       show -p $pid
stat       stat -p $pid
status     status
processes  list processes
functions  list functions -p $pid *n*
symbols    list symbols -p $pid
ls         ls $pid events/functions
TABLE
"$patchbay" snapshot -p $pid -s || fail "no snapshot can be taken"
shown "the snapshot" snapshot -p $pid
shown calls calls -e "$event" -- "$odd" ended
shown hist hist "$event" keys=text -- "$odd" ended
shown top top --once -- "$odd" ended
shown "list of a file" list functions -- "$odd"
shown complete completions words -- patchbay cat -p ""
shown probe probe -x "$odd" -L note
shown "probe -F" probe -x "$odd" -F
# A file gets each byte, as the kernel's tracefs gives it.
check "cat into a file changes nothing" grep -aq $'\033\\[31m bell \a' <("$patchbay" cat $pid trace)

told "a wrong event" 1 record -o "$work/t.dat" -p $pid -e 'nothing(int n)'
told "a wrong place" 1 probe -x "$odd" -n nothing
told record 0 record -o "$work/t.dat" -e "$event" -t function_graph -- "$odd" ended
for form in report "report --stat" "report --processes" graph dump replay; do
  # shellcheck disable=SC2086  # several words
  shown "$form" ${form%% *} -i "$work/t.dat" ${form#"${form%% *}"}
done
# csv: what a spreadsheet takes for a formula.
told csv 0 export --to csv -e note -i "$work/t.dat" -o -
check "csv keeps texts" grep -q ',"=red ' "$work/out"
told "csv for a spreadsheet" 0 export --to csv --formulas quote -e note -i "$work/t.dat" -o -
check "csv for a spreadsheet" grep -q ",\"'=red " "$work/out"
check "its numbers stay numbers" grep -qE '",[0-9]+,' "$work/out"
told "another word" 2 export --to csv --formulas other -i "$work/t.dat" -o -

shown detach detach $pid
told "detach again" 0 detach $pid
kill $pid
finish
