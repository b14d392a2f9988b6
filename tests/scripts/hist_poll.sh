#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who polls a hist file through a mount is woken by the first hit that it has not read (HI: poll).
#   hist_poll.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount
need python3
mkfifo "$work/in" "$work/out"
exec 3<>"$work/in" 4<>"$work/out"
start_in_place "$work/in" "$work/out" "$programs/hits" || finish
hit() { echo "$*" >&3 && read -r -t 60 -u 4 _ || fail "the program does not answer"; }
cd "$mounted/events/app/hit" || exit 1
check "a histogram" eval 'echo hist:keys=n >trigger'

# Says what poll() returns, one word a step; a step that waits says so before.
cat >"$work/poll.py" <<'PYTHON'
import os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
def read():
    os.lseek(fd, 0, os.SEEK_SET)
    size = 0
    while part := os.read(fd, 4096): size += len(part)
    return size
def polled(milliseconds, event=select.POLLIN):
    poll = select.poll()
    poll.register(fd, event)
    return "ready" if any(e & event for _, e in poll.poll(milliseconds)) else "nothing"
for line in sys.stdin:
    if line == "read\n": print("read" if read() else "empty", flush=True)
    elif line == "look\n": print(polled(0), flush=True)
    elif line == "changed\n": print(polled(0, select.POLLPRI), flush=True)
    else:
        print("waits", flush=True)
        print(polled(20000, select.POLLPRI if "change" in line else select.POLLIN), flush=True)
PYTHON
mkfifo "$work/ask" "$work/answer"
exec 5<>"$work/ask" 6<>"$work/answer"
python3 "$work/poll.py" hist <"$work/ask" >"$work/answer" 5>&- 6>&- &
poller=$!
started $poller
ask() { echo "$1" >&5 && read -r -t 30 -u 6 answer && echo "$answer"; }
same "nothing was hit" "nothing" "$(ask look)"
hit stat 1 2
same "there are hits that were not read" "ready" "$(ask look)"
same "they are read" "read" "$(ask read)"
same "and then there are none" "nothing" "$(ask look)"
same "who waits" "waits" "$(ask wait)"
sleep 0.3
hit stat 1 1
read -r -t 30 -u 6 answer
same "is woken by a hit" "ready" "$answer"
same "until it has read it" "ready" "$(ask look)"
ask read >/dev/null
same "the table is read anew" "nothing" "$(ask look)"
# POLLPRI: since poll() was called last, whether the table was read or not.
same "poll() was called since" "nothing" "$(ask changed)"
hit stat 1 1
same "the table has changed" "ready" "$(ask changed)"
same "which was told" "nothing" "$(ask changed)"
same "but was not read" "ready" "$(ask look)"
same "who waits for a change" "waits" "$(ask "wait for a change")"
sleep 0.3
hit stat 1 1
read -r -t 30 -u 6 answer
same "is woken by it" "ready" "$answer"
has "with all hits" "$(cat hist)" '^\{ n: +1 \} hitcount: +4$'
exec 5>&-
cd /
stop_standin
finish
