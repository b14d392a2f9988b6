#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process that is stopped, or that accepts and never answers, holds nothing up: each command says
# so after a second, and a mount goes on when the process does. Limits here are those of a hang.
. "$(dirname "$0")/common.bash"
need fusermount3 python3
hang=60  # seconds

LD_PRELOAD=$agent "$programs/steady" 2000 >/dev/null 2>&1 &
pid=$!
started $pid
LD_PRELOAD=$agent "$programs/steady" 2000 >/dev/null 2>&1 &
other=$!
started $other
wait_for 20 "$patchbay" ls $pid
wait_for 20 "$patchbay" ls $other
stop() { stop_whole $pid; }

# --- commands
stop
out=$(timeout $hang "$patchbay" list processes 2>&1)
has "the stopped one is named" "$out" "^ *$pid stopped .*steady"
has "the others are listed" "$out" "^ *$other alive .*steady"
has "also as JSON" "$(timeout $hang "$patchbay" list processes --json)" '"state": "stopped"'
sentence="Process $pid does not answer: it is stopped"
mkdir "$work/mnt" "$work/all"
while read -r line; do
  read -ra words <<<"$line"
  out=$(timeout $hang "$patchbay" "${words[@]}" 2>&1)
  status=$?
  check "patchbay $line fails" test $status -ne 0
  has "patchbay $line says why" "$out" "$sentence"
done <<END
cat $pid trace
ls $pid
write $pid tracing_on 0
list functions -p $pid
list events -p $pid
list symbols -p $pid
top -p $pid --once
record -p $pid -e work() -o $work/t.dat
mount -p $pid $work/mnt
with-tracefs $pid true
start -p $pid -e work()
stat -p $pid
hist work() keys=common_pid -p $pid
END
kill -CONT $pid
same "it answers when it goes on" 1 "$(timeout $hang "$patchbay" cat $pid tracing_on 2>&1)"

# --- a recording of a process that is stopped meanwhile
"$patchbay" record -p $pid -e 'work(long n)' -o "$work/t.dat" >"$work/record" 2>&1 &
recorder=$!
started $recorder
records() { "$patchbay" cat $pid instances/patchbay-$recorder-1/trace | grep -q 'work(n='; }
check "it records" wait_for $hang records
stop
kill -INT $recorder
wait $recorder
has "its end says what stays" "$(cat "$work/record")" "$pid does not answer.*reset -p $pid"
has "what was recorded is there" "$("$patchbay" report -i "$work/t.dat" | tail -n 1)" 'work\(n='
kill -CONT $pid
check "and the command that it names ends it" timeout $hang "$patchbay" reset -p $pid
same "it is off" 0 "$("$patchbay" cat $pid events/functions/work/enable 2>/dev/null || echo 0)"

# --- a connection queue that nobody empties
stop
python3 - "$PATCHBAY_DIR/$pid/ctl.sock" <<'PY' &
import socket, sys, time
kept = []
while True:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try: s.connect(sys.argv[1])
    except BlockingIOError: break
    kept.append(s)
open(sys.argv[1] + ".full", "w")
time.sleep(600)
PY
queue=$!
started $queue
wait_for 20 test -e "$PATCHBAY_DIR/$pid/ctl.sock.full"
has "with a full queue the stopped one is named" \
  "$(timeout $hang "$patchbay" list processes 2>&1)" "^ *$pid stopped"
has "and a command says so" "$(timeout $hang "$patchbay" cat $pid trace 2>&1)" \
  "Process $pid does not answer"
kill $queue
kill -CONT $pid
same "it answers when it goes on" 1 "$(timeout $hang "$patchbay" cat $pid tracing_on 2>&1)"

# --- a server that accepts and never answers
python3 - "$PATCHBAY_DIR" <<'PY' &
import os, socket, sys, time
directory = f"{sys.argv[1]}/{os.getpid()}"
os.mkdir(directory, 0o700)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(directory + "/ctl.sock")
s.listen()
kept = []
while True: kept.append(s.accept())
PY
mute=$!
started $mute
wait_for 20 test -S "$PATCHBAY_DIR/$mute/ctl.sock"
has "a mute server is not waited for" "$(timeout $hang "$patchbay" cat $mute trace 2>&1)" \
  "Process $mute does not answer"
out=$(timeout $hang "$patchbay" list processes 2>&1)
has "it is listed as silent" "$out" "^ *$mute silent"
has "beside the others" "$out" "^ *$other alive"
kill -9 $mute
wait $mute 2>/dev/null
rm -rf "${PATCHBAY_DIR:?}/$mute"

# --- in a mount
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"
mnt=$work/mnt
trap 'fusermount3 -u "$work/all" 2>/dev/null; fusermount3 -u "$mnt" 2>/dev/null; cleanup' EXIT
check "a mount of one" "$patchbay" mount -p $pid "$mnt"
exec 7<"$mnt/tracing_on"
echo >"$mnt/trace"
cat "$mnt/trace_pipe" >"$work/pipe" &
reader=$!
started $reader
echo before >"$mnt/trace_marker"
check "a reader waits in trace_pipe" wait_for $hang grep -q before "$work/pipe"
stop
check "a mount of all" "$patchbay" mount "$work/all"
for i in 1 2 3; do
  has "a read says that it timed out ($i)" "$(timeout $hang cat "$mnt/tracing_on" 2>&1)" "timed out"
  has "so does a write ($i)" "$(timeout $hang bash -c "echo 0 >$mnt/tracing_on" 2>&1)" "timed out"
done
has "a listing, too" "$(timeout $hang ls "$mnt/events" 2>&1)" "timed out"
has "it is in the mount of all" "$(timeout $hang ls "$work/all")" "^$pid$"
has "where the stopped one times out" "$(timeout $hang cat "$work/all/$pid/tracing_on" 2>&1)" \
  "timed out"
same "and the other answers" 1 "$(timeout $hang cat "$work/all/$other/tracing_on" 2>&1)"
check "the reader still waits" kill -0 $reader
kill -CONT $pid
answers() { [[ $(cat "$1/tracing_on" 2>/dev/null) == 1 ]]; }
check "the mount works when it goes on; nothing that failed was done" wait_for $hang answers "$mnt"
check "so does the mount of all" wait_for $hang answers "$work/all/$pid"
same "so does a file that was open" 1 "$(timeout $hang cat <&7)"
exec 7<&-
echo behind >"$mnt/trace_marker"
check "the reader gets what comes" wait_for $hang grep -q behind "$work/pipe"
kill -9 $pid
check "a killed process ends its reader" wait_for $hang bash -c "! kill -0 $reader"
finish
