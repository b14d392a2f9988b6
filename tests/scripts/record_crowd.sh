#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 512 processes in one recording: each has its exact count, nothing is lost and nothing is left; and
# what is said when there are fewer descriptors than processes.
#   record_crowd.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3 gcc
cd "$work" || exit 1
size=${CROWD:-512}
# Six descriptors a process.
(($(ulimit -Hn) >= size * 6 + 200)) ||
  skip "the limit of open files, $(ulimit -Hn), is too low for $size processes"
[[ $(ulimit -u) == unlimited ]] || (($(ulimit -u) >= size * 4)) ||
  skip "the limit of processes, $(ulimit -u), is too low for $size of two threads each"
(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) >= 3000000)) ||
  skip "$size processes need 3 GB of memory"

cat >ticker.c <<'EOC'
#include <unistd.h>
__attribute__((noinline)) int tick(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void) {
  char byte;
  (void)!write(1, "r", 1);
  (void)!read(0, &byte, 1);
  for (int i = 0; i < 10; i++) tick(i);
  (void)!write(1, "d", 1);
  for (;;) pause();
}
EOC
check "it is compiled" gcc -O1 -o ticker ticker.c
cat >crowd.py <<'PYTHON'
# COUNT AGENT : starts so many; "ready"; at a line they all tick; "did"; at the next all are killed.
import os, subprocess, sys
count, agent = int(sys.argv[1]), sys.argv[2]
gate, opener = os.pipe()
news, teller = os.pipe()
def wait(left):
    while left > 0: left -= len(os.read(news, left))
env = dict(os.environ, LD_PRELOAD=agent)
crowd = [subprocess.Popen(["./ticker"], stdin=gate, stdout=teller, env=env) for _ in range(count)]
wait(count)
with open("crowd.pids", "w") as file: file.write(",".join(str(one.pid) for one in crowd))
print("ready", flush=True)
sys.stdin.readline()
os.close(opener)
wait(count)
print("did", flush=True)
sys.stdin.readline()
for one in crowd: one.kill()
for one in crowd: one.wait()
PYTHON

crowd='' pids=''
trap 'xargs -d , kill -9 <crowd.pids 2>/dev/null; cleanup' EXIT
# gather COUNT : sets crowd and pids.
gather() {
  rm -f crowd.in crowd.out crowd.pids
  mkfifo crowd.in
  python3 crowd.py "$1" "$agent" <crowd.in >crowd.out 2>crowd.err &
  crowd=$!
  started $crowd
  exec 5>crowd.in
  if ! wait_for 120 grep -q ready crowd.out; then
    fail "the crowd does not start: $(cat crowd.err)"
    finish
  fi
  pids=$(cat crowd.pids)
}
disperse() {
  echo >&5
  wait $crowd
  exec 5>&-
  : >crowd.pids
}
# record WORD… : until it records. Sets recorder.
record() {
  "$patchbay" record -o many.dat -e 'tick(int n)' "$@" 2>record.err &
  recorder=$!
  started $recorder
  wait_for 120 grep -qE 'Ctrl-C ends|patchbay record: [^r]' record.err ||
    fail "record does not begin: $(cat record.err)"
}
tick_and_stop() {
  echo >&5
  wait_for 60 grep -q did crowd.out || fail "the crowd does not tick"
  kill -INT $recorder
  wait_for 120 eval "! kill -0 $recorder 2>/dev/null" || { fail "record hangs"; kill -9 $recorder; }
  wait $recorder
  status=$?
}

gather "$size"
ulimit -Sn 256 # a soft limit is raised
record -p "$pids"
tick_and_stop
same "status" 0 $status
has "nothing is lost" "$(cat record.err)" "record: $((size * 10)) events, .*; lost 0 "
has "all are in the file" "$(cat record.err)" "$size processes are in the file: ticker \($size\)"
same "each has its ten" "$size 10" "$("$patchbay" report many.dat |
  sed -n 's/^ *ticker-\([0-9]*\) .*tick(.*/\1/p' | sort | uniq -c |
  awk '{ n[$1]++ } END { for (count in n) print n[count], count }')"
same "no part is left" "" "$(compgen -G '*.part')"
disperse

# Fewer descriptors than they need: some are recorded, the others are named with the reason.
gather 40
recorded=$( (
  ulimit -n 100
  record -p "$pids"
  tick_and_stop
  echo "$status"
) )
same "few descriptors: status" 0 "$recorded"
has "few descriptors: the limit is named, and what to do" "$(cat record.err)" \
  'no descriptor left: the limit of open files is 100; raise it with .ulimit -n.'
same "few descriptors: who is recorded is recorded whole" 10 "$("$patchbay" report many.dat |
  sed -n 's/^ *ticker-\([0-9]*\) .*tick(.*/\1/p' | sort | uniq -c | awk '{ print $1 }' | sort -u)"
disperse
finish
