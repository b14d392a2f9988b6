#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the threads of a process stand, and which wait for locks, without an agent. gdb says the
# same functions.
. "$(dirname "$0")/common.bash"
need jq
cd "$work" || exit 1
mkfifo in
"$programs/stuck" <in >out &
pid=$!
started $pid
exec 7>in
wait_for 20 grep -q ready out || fail "the program is not ready"
tid() { awk -v name="$1" '$1 == name { print $2; exit }' out; }
asleep() { [[ $(cut -d' ' -f1 "/proc/$pid/task/$(tid "$1")/syscall") == "$2" ]]; }
wait_for 20 asleep one 202 && wait_for 20 asleep two 202 && wait_for 20 asleep reader 202 &&
  wait_for 20 asleep timed 202 ||
  fail "they do not wait"
wait_for 20 asleep writer 0 && wait_for 20 asleep handler 0 || fail "they do not read"

# functions NAME : of that thread's stack, innermost first.
functions() {
  jq -r --argjson tid "$(tid "$1")" '.threads[] | select(.tid == $tid) | .frames[].function' json |
    sed 's/(.*//' | paste -sd' '
}
"$patchbay" stacks --json $pid >json 2>err
same "stacks: status" 0 $?
same "all threads" "$(ls /proc/$pid/task | wc -l)" "$(jq '.threads | length' json)"
has "a thread that waits for a mutex" "$(functions one)" 'pthread_mutex_lock .*transfer .*clone'
has "an inlined function" "$(functions alike)" 'read nap_inlined outer '
has "through a signal's frame" "$(functions handler)" \
  'read in_handler <signal handler called> .* interrupted '
has "one that runs" "$(functions busy)" 'busy'
same "each stack ends where it began" 0 "$(jq '[.threads[] | select(.end != "")] | length' json)"
same "nothing is guessed" 0 "$(jq '[.threads[].frames[] | select(.guessed)] | length' json)"
has "lines" \
  "$(jq -r '.threads[].frames[] | select(.function == "transfer") | .file' json)" 'stuck.cc$'
line=$(grep -n '^  nap_inlined' "$here/../programs/stuck.cc" | cut -d: -f1)
same "the line of an inlined call" "$line" \
  "$(jq '[.threads[].frames[] | select(.function == "outer") | .line][0]' json)"
if command -v gdb >/dev/null; then
  gdb -nx -batch -p $pid -ex 'set backtrace past-main on' -ex 'set backtrace past-entry on' \
    -ex 'thread apply all -q frame apply all -q p/x $pc' 2>/dev/null |
    sed -n 's/.* = 0x//p' | sort -u >gdb.pcs
  jq -r --argjson busy "$(tid busy)" '.threads[] | select(.tid != $busy) | .frames[] | .pc' json |
    sed 's/^0x//' | sort -u >our.pcs
  same "gdb has all frames" "" "$(comm -23 our.pcs gdb.pcs)"
  check "and they are many" test "$(wc -l <our.pcs)" -gt 10
fi
"$patchbay" stacks -p $pid >text
has "those alike are one" "$(cat text)" \
  '^3 threads in read: [0-9]+ alike, [0-9]+ alike, [0-9]+ alike$'
has "with a line" "$(cat text)" '^    transfer.* stuck.cc:[0-9]+$'

"$patchbay" locks stuck >text 2>err
same "locks: status" 0 $?
one=$(tid one) two=$(tid two)
has "who waits for whom" "$(cat text)" \
  "^thread $one one waits for mutex audit, which thread $two two holds"
has "and the other way" "$(cat text)" \
  "^thread $two two waits for mutex accounts, which thread $one one holds"
has "the cycle" "$(cat text)" \
  "^deadlock: ($one waits for $two waits for $one|$two waits for $one waits for $two)$"
has "an rwlock" "$(cat text)" \
  "^thread $(tid reader) reader waits for rwlock prices, which thread $(tid writer) writer holds"
has "where its holder is" "$(cat text)" "^thread $(tid writer) writer holds, in read"
"$patchbay" locks --json $pid >json
same "as JSON" "[[$one,$two]]" "$(jq -c '.deadlocks | map(sort)' json)"

# Looked at before, and with an agent, which has libc mapped once more to read it.
has "a wait with a limit, once more" "$(cat text)" \
  "^thread $(tid timed) timed waits for mutex accounts, which thread $one one holds"
check "an agent comes" "$patchbay" attach $pid 2>err
"$patchbay" locks $pid >text
has "the cycle is seen beside it" "$(cat text)" '^deadlock: '
check "and it goes" "$patchbay" detach $pid 2>err
"$patchbay" locks $pid >text
has "the cycle is seen behind it" "$(cat text)" '^deadlock: '

# The process is as it was.
check "it runs" kill -0 $pid
same "nobody traces it" 0 "$(awk '/^TracerPid/ { print $2 }' /proc/$pid/status)"
exec 7>&-
wait $pid
same "it ends as alone" 0 $?
has "a process that is not there" "$("$patchbay" stacks $pid 2>&1)" 'there is no process'
finish
