#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay mount: the tracefs of a running process as a directory, for a shell's own commands.
. "$(dirname "$0")/common.bash"
need fusermount3 python3
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"

target() {  # starts a program with the agent, its id in $pid
  LD_PRELOAD=$agent "$@" >/dev/null 2>&1 &
  pid=$!
  started "$pid"
  wait_for 20 "$patchbay" ls "$pid"
}
target "$programs/steady" 2000
has "its functions have names before anything was recorded" \
  "$("$patchbay" list symbols -p "$pid")" '[[:space:]]work([[:space:]]|$)'
mnt=$work/mnt
mkdir "$mnt"
mounted() { grep -q " $1 fuse" /proc/mounts; }
unmount() { fusermount3 -u "$1" 2>/dev/null; }
trap 'unmount "$mnt"; cleanup' EXIT

# --- refusals
out=$("$patchbay" mount -p "$pid" "$work/missing" 2>&1)
has "a missing directory is named" "$out" "missing does not exist"
mkdir "$work/full" && touch "$work/full/file"
out=$("$patchbay" mount -p "$pid" "$work/full" 2>&1)
has "a directory with something in it is refused" "$out" "not empty"
out=$("$patchbay" mount -p 4000000 "$mnt" 2>&1)
has "a process without an agent is refused" "$out" "does not exist"
out=$("$patchbay" mount -o speed=9 -p "$pid" "$mnt" 2>&1)
has "an unknown option is named" "$out" "speed=9"
check "nothing was mounted" test -z "$(grep "$work" /proc/mounts)"

# --- files and directories
mkfifo "$work/fifo"
exec 9<>"$work/fifo" 8<&0 {high}>"$work/kept"
check "the mount is ready when the command returns" "$patchbay" mount -p "$pid" "$mnt"
exec 9>&- 8<&- {high}>&-
kept=0
for link in /proc/[0-9]*/fd/*; do
  [[ $(readlink "$link" 2>/dev/null) == "$work"/@(fifo|kept) ]] && kept=$((kept + 1))
done
same "the daemon keeps no descriptor of its shell" 0 $kept
check "it is in the table of mounts" mounted "$mnt"
has "its line says tracefs" "$(grep "$mnt" /proc/mounts)" tracefs
same "the listings agree" "$("$patchbay" ls "$pid" | tr -d / | sort)" "$(ls "$mnt" | sort)"
check "a definition by >>" bash -c "echo 'work(long n, string name)' >> $mnt/function_events"
check "enable by >" bash -c "echo 1 > $mnt/events/functions/work/enable"
check "events come" wait_for 60 grep -qE 'work\(n=' "$mnt/trace"
echo 0 >"$mnt/tracing_on"
has "trace has events" "$(cat "$mnt/trace")" 'work\(n=[0-9]+, name=steady\)'
# The clock's line grows more precise while a process is young: the last digit of a time may differ.
without_times() { sed -E 's/ [0-9]+\.[0-9]{6}: / TIME: /' | md5sum; }
same "cat and patchbay cat read the same" "$("$patchbay" cat "$pid" trace | without_times)" \
  "$(without_times <"$mnt/trace")"
same "one byte at a time reads the same" "$(cat "$mnt/set_event")" \
  "$(dd if="$mnt/set_event" bs=1 2>/dev/null)"
has "a text has no size, raw pages have a huge one" \
  "$(stat -c '%s' "$mnt/trace" "$mnt/per_cpu/cpu0/trace_pipe_raw" | tr '\n' ' ')" \
  '^0 1000000000000 $'
lines=0
while read -r _; do lines=$((lines + 1)); done <"$mnt/trace"
same "a shell's read sees every line" "$(wc -l <"$mnt/trace")" "$lines"
: >"$mnt/trace"
check "> empties the trace" test -z "$(grep work "$mnt/trace")"
check "a wrong value is refused" bash -c "! echo nonsense > $mnt/tracing_on" 2>/dev/null
check "a new file is refused" bash -c "! echo 1 > $mnt/no_such_file" 2>/dev/null
check "a directory elsewhere is refused" bash -c "! mkdir $mnt/elsewhere" 2>/dev/null

# --- instances, owner and mode
check "mkdir makes an instance" mkdir "$mnt/instances/a.B"
check "it has the files" test -e "$mnt/instances/a.B/per_cpu/cpu0/trace_pipe_raw"
exec 7<"$mnt/instances/a.B/trace"
check "rmdir of one with an open file is refused" bash -c "! rmdir $mnt/instances/a.B" 2>/dev/null
exec 7<&-
check "rmdir removes it" rmdir "$mnt/instances/a.B"
check "it is gone" test ! -e "$mnt/instances/a.B"
chmod 600 "$mnt/trace"
same "chmod stays" 600 "$(stat -c %a "$mnt/trace")"
if ((EUID == 0)); then
  chgrp 12345 "$mnt/instances" && mkdir "$mnt/instances/grouped"
  same "a new instance has the group of instances" 12345 \
    "$(stat -c %g "$mnt/instances/grouped/events/enable")"
  rmdir "$mnt/instances/grouped"
fi

# --- files that wait
echo 1 >"$mnt/tracing_on"
has "trace_pipe waits for events and gives them" \
  "$(timeout 60 head -n 3 "$mnt/trace_pipe" 2>/dev/null)" 'work\(n='
echo 0 >"$mnt/events/functions/work/enable"
: >"$mnt/trace"  # what is left
# start_reader : of trace_pipe; it waits when this returns. Sets reader.
reads_and_waits() {
  local number descriptor  # of a read(2): "0 0x3 …"
  read -r number descriptor _ <"/proc/$reader/syscall" && [[ $number == 0 ]] &&
    [[ $(readlink "/proc/$reader/fd/$((descriptor))") == "$mnt/trace_pipe" ]] &&
    grep -q '^State:.S' "/proc/$reader/status"
}
start_reader() {
  env --default-signal=INT cat "$mnt/trace_pipe" >"$work/pipe" &
  reader=$!
  started $reader
  check "a reader of trace_pipe waits" wait_for 60 reads_and_waits
}
start_reader
kill -INT $reader
check "Ctrl-C ends a reader that waits" wait_for 60 bash -c "! kill -0 $reader"
wait $reader
same "by its signal" 130 $?
start_reader
same "others are not held up by it" 0 "$(cat "$mnt/events/functions/work/enable")"
echo hello >"$mnt/trace_marker"
check "it gets what comes" wait_for 60 grep -q hello "$work/pipe"
python3 - "$mnt" >"$work/poll" <<'PY'
import os, select, sys, fcntl
fd = os.open(sys.argv[1] + "/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
try:
    while os.read(fd, 4096): pass
except BlockingIOError:
    print("EAGAIN")
print(select.select([fd], [], [], 0.2)[0] == [])
print(fcntl.ioctl(fd, 0))
try: fcntl.ioctl(fd, 0x5401)
except OSError as error: print(error.errno)
PY
same "raw pages: EAGAIN, select, ioctl" "EAGAIN True 0 25" \
  "$(tr '\n' ' ' <"$work/poll" | sed 's/ $//')"

# --- the end of the process
kill -9 "$pid"
check "a killed process ends its reader" wait_for 60 bash -c "! kill -0 $reader"
wait $reader
same "without an error" 0 $?
out=$(cat "$mnt/trace" 2>&1)
has "later calls say that it is gone" "$out" "No such device"
check "unmount" fusermount3 -u "$mnt"
check "nothing is mounted" bash -c "! grep -q $mnt /proc/mounts"

# --- all processes
target "$programs/steady" 2000
first=$pid
target "$programs/steady" 2000
"$patchbay" mount "$mnt"
same "a directory for each process" "$(printf '%s\n' "$first" "$pid" | sort)" "$(ls "$mnt" | sort)"
has "with its files" "$(ls "$mnt/$pid")" '^trace_pipe$'
kill -9 "$pid"
check "which goes with it" wait_for 60 test ! -e "$mnt/$pid"
same "the other stays" 1 "$(cat "$mnt/$first/tracing_on")"
check "unmount of all" fusermount3 -u "$mnt"
finish
