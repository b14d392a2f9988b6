#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Words that a person guesses: a program without a command, processes by their name, a command that
# ends by itself, one wrong name of several.
. "$(dirname "$0")/common.bash"
cd "$work" || exit 1
name=w$$x  # nobody else's
cp "$programs/steady" "$name" || exit 1
cp "$programs/graph_calls" own || exit 1

# --- a program without a command: its own functions, as a tree
"$patchbay" ./own >out 2>tree
same "a program alone: its status" 0 $?
same "and its output" "$(./own)" "$(cat out)"
has "its calls are a tree" "$(cat tree)" '^(\[[0-9]+\])?    *calls_leaf\('
has "from main on" "$(cat tree)" '^(\[[0-9]+\] )?main\('
same "nothing of the C++ library" 0 "$(grep -c 'std::' tree)"
"$patchbay" calls -- ./own >out 2>same_tree
calls_in() { grep -oE 'calls_[a-z]+\(' "$1" | sort | uniq -c; }
same "calls without -e shows the same calls" "$(calls_in tree)" "$(calls_in same_tree)"
has "it is said what they are" "$(cat tree)" 'functions of the program itself; -e shows others'
has "a path that is none" "$("$patchbay" ./nothing 2>&1)" "There is no command './nothing'"

# --- one wrong name of several
"$patchbay" calls -e calls_leaf -e calls_laef -- ./own >out 2>err
same "a wrong name of several: status" 1 $?
has "it is said" "$(cat err)" "no function .calls_laef. .*near: calls_leaf"
has "the others are shown" "$(cat err)" '^(\[[0-9]+\] )?calls_leaf\('
"$patchbay" calls -e calls_laef -- ./own >out 2>err
same "all names are wrong: status" 1 $?
same "and the program does not run" "" "$(cat out)"

# --- processes by their name, and a time
for _ in 1 2; do
  ./"$name" 1000 &
  started $!
done
both=$(pgrep -x "$name" | paste -sd,)
"$patchbay" record --for 300ms -e 'work(long n)' -o two.dat -p "$name" 2>err
same "record by name, for a time: status" 0 $?
has "both are in the file" "$(cat err)" '2 processes are in the file'
"$patchbay" hist --for 300ms 'work(long n)' keys=common_type --per-process \
  -p "$name" >out 2>err
same "hist by name, for a time: status" 0 $?
has "both are counted" "$(cat out)" "^# .*${both%,*}"
has "the other one, too" "$(cat out)" "^# .*${both#*,}"
one=${both%,*}
"$patchbay" latency --for 300ms work -p "$one" >out 2>err
same "latency for a time: status" 0 $?
has "it has counted" "$(cat out)" 'p99|calls|times'
"$patchbay" calls --for 300ms -e work -p "$one" 2>err
same "calls for a time: status" 0 $?
has "it has shown calls" "$(cat err)" '^work\('
has "one of two is needed" "$("$patchbay" calls -e work -p "$name" 2>&1)" \
  "-p $name is 2 processes: ${both/,/, }; here it takes one"
"$patchbay" top --once -d 0.2 "$name" >out 2>err
same "top of a name: status" 0 $?
has "it has the function" "$(cat out)" ' work'
# A program that is started gets a SIGTERM.
SECONDS=0
"$patchbay" calls --for 200ms -e work -- "./$name" 1000 2>err
same "a program that is started is ended" 143 $?
check "in time" test $SECONDS -lt 20
has "a time without a unit" "$("$patchbay" calls --for 3 -e work -- true 2>&1)" \
  '--for takes a time with its unit'
finish
