#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands that put the agent into a running program, and which of them take it out again. The
# program was started without it.
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1

python3 -c '
import os, select
open("ready", "w").close()
while True:
    select.select([], [], [], 0.01)
    os.getppid()
' &
pid=$!
started $pid
wait_for 20 test -e ready || fail "the program does not begin"

# agent_of : what `list processes` says about the program.
agent_of() {
  "$patchbay" list processes --json | python3 -c '
import json, sys
rows = [row["agent"] for row in json.load(sys.stdin) if row["pid"] == int(sys.argv[1])]
print(rows[0] if rows else "none")' "$pid"
}
# is_gone SENTENCE : the agent has been taken out, and nothing of it is left in the directory.
is_gone() {
  same "$1: the agent is asleep" asleep "$(agent_of)"
  same "$1: the runtime directory is empty" "" "$(ls -A "$PATCHBAY_DIR")"
}
# for_a_while COMMAND… : some seconds, then Ctrl-C.
for_a_while() { timeout -s INT 3 "$@"; }

# --- commands that only look
same "the program has no agent" none "$(agent_of)"
for words in "cat $pid trace" "ls $pid" "show -p $pid" "list events -p $pid"; do
  # shellcheck disable=SC2086
  out=$("$patchbay" $words 2>&1)
  has "patchbay $words says what helps" "$out" "patchbay attach $pid"
done
same "and the program has none yet" none "$(agent_of)"

# --- commands that measure and end
for_a_while "$patchbay" record -q -p $pid -e 'getppid()' -o one.dat
has "record has events" "$("$patchbay" report -i one.dat)" 'getppid'
is_gone "after record"
out=$(for_a_while "$patchbay" hist 'getppid()' keys=common_pid -p $pid)
has "hist has counted" "$out" "common_pid: +$pid } hitcount: +[1-9]"
is_gone "after hist"
has "latency has measured" "$(for_a_while "$patchbay" latency getppid -p $pid)" '[1-9][0-9]* times'
is_gone "after latency"
out=$(for_a_while "$patchbay" sql -e 'getppid()' 'SELECT common_pid FROM getppid' -p $pid)
has "sql has counted" "$out" 'Hits: [1-9]'
is_gone "after sql"
has "top has counted" "$("$patchbay" top -p $pid -l getppid --once)" ' getppid$'
is_gone "after top"
"$patchbay" top -p $pid -l getppid -d 0.1 | head -n 1 >/dev/null
is_gone "after top whose reader has gone"
"$patchbay" record -q -p $pid -e 'nothing:nowhere' -o two.dat 2>/dev/null
same "a mistake is one" 1 $?
is_gone "after a mistake"

# --- two at once: the last one takes it out
"$patchbay" record -q -p $pid -e 'getppid()' -o long.dat &
long=$!
wait_for 20 test -e "$PATCHBAY_DIR/$pid/ctl.sock" || fail "the first recorder has not attached"
for_a_while "$patchbay" record -q -p $pid -e 'getppid()' -o short.dat
same "the first one keeps it" attached "$(agent_of)"
kill -TERM $long
wait $long
is_gone "after both"

# --- a command that was killed
timeout -s KILL 3 "$patchbay" record -q -p $pid -e 'getppid()' -o killed.dat
same "it has left the agent there" attached "$(agent_of)"
for_a_while "$patchbay" hist 'getppid()' keys=common_pid -p $pid >/dev/null
is_gone "after the next one"

# --- commands whose work stays
for words in "start -p $pid -e getppid()" "write $pid trace_marker here" "attach -b 64K $pid"; do
  # shellcheck disable=SC2086
  "$patchbay" $words >/dev/null 2>&1
  same "$words: its status" 0 $?
  same "$words: the agent stays" attached "$(agent_of)"
  for_a_while "$patchbay" record -q -p $pid -e 'getppid()' -o kept.dat
  same "$words: a recorder leaves it there" attached "$(agent_of)"
  "$patchbay" detach $pid >/dev/null
  same "$words: detach" 0 $?
  is_gone "$words, detach"
done
has "a second detach says so" "$("$patchbay" detach $pid)" 'detached already'
"$patchbay" start -p $pid -e 'nothing:nowhere' 2>/dev/null
is_gone "after a start that failed"

# --- several processes: the others are done
out=$("$patchbay" attach 1999999 $pid 2>&1)
same "one of two is there" 1 $?
has "the other one is named" "$out" 'Process 1999999 does not exist'
same "the one is attached" attached "$(agent_of)"
has "again says so" "$("$patchbay" attach $pid)" 'has the agent already'
"$patchbay" detach $pid >/dev/null

# --- a mount
if [[ -w /dev/fuse ]] && command -v fusermount3 >/dev/null; then
  mkdir tree
  "$patchbay" mount -p $pid tree
  same "a mount shows the tree" 1 "$(cat tree/tracing_on)"
  fusermount3 -u tree
  wait_for 20 test ! -e "$PATCHBAY_DIR/$pid.attached" || fail "the mount keeps the agent"
  is_gone "after a mount"
fi

# --- a program that was started with the agent keeps it
LD_PRELOAD=$agent sleep 1000 &
preloaded=$!
started $preloaded
wait_for 20 "$patchbay" ls $preloaded >/dev/null || fail "no agent was preloaded"
has "it is listed as such" "$("$patchbay" list processes)" "^ *$preloaded alive +preloaded"
"$patchbay" detach $preloaded 2>/dev/null
same "it cannot be detached" 1 $?
check "and goes on" "$patchbay" ls $preloaded >/dev/null

# --- the program ends while it is recorded
"$patchbay" record -q -p $pid -e 'getppid()' -o end.dat &
recorder=$!
is_recorded() {
  "$patchbay" cat $pid function_events | grep -q getppid
}
wait_for 20 is_recorded || fail "the recorder has not attached"
sleep 0.5  # it has begun to read
kill $pid
wait $recorder
same "its end ends the recording" 0 $?
check "nothing says that the agent is to go" test ! -e "$PATCHBAY_DIR/$pid.attached"

# --- a process that is just starting with the agent: a command that comes too early neither takes
# its directory away nor puts a second agent into it
early() {
  local round pid
  for round in $(seq 1 "$1"); do
    LD_PRELOAD=$agent sleep 100 &
    pid=$!
    started $pid
    for _ in 1 2 3; do "$patchbay" write $pid tracing_on 1 2>/dev/null && break; done
    wait_for 60 "$patchbay" cat $pid tracing_on || {
      echo "round $round: nothing answers"
      ls "$PATCHBAY_DIR"
      return
    }
    kill $pid
  done
}
shells=()
for shell in 1 2 3 4; do
  early 25 >"$work/early.$shell" &
  shells+=($!)
done
wait "${shells[@]}"
same "commands that come early" "" "$(cat "$work"/early.*)"
finish
