#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unmodified perf, trace-cmd and bpftrace listen to events of ours, of a program of our own and of
# sqlite3: their counts and texts are those of our own histogram and buffer. bpftrace's numbers come
# from a map of the kernel's.
[[ ${PATCHBAY_OWN_MOUNTS-} || $(id -u) != 0 ]] ||
  { unshare -m true 2>/dev/null && exec env PATCHBAY_OWN_MOUNTS=1 unshare -m "$0" "$@"; }
. "$(dirname "$0")/common.bash"
[[ $(id -u) == 0 ]] || skip "uprobes need root"
[[ ${PATCHBAY_OWN_MOUNTS-} ]] || skip "there are no mount namespaces here"
tracefs=/sys/kernel/tracing
[[ -e $tracefs/uprobe_events ]] || mount -t tracefs none $tracefs 2>/dev/null
[[ -e $tracefs/uprobe_events ]] || skip "this kernel has no uprobes"
[[ -d /sys/kernel/debug/tracing ]] || mount -t debugfs none /sys/kernel/debug 2>/dev/null
cd "$work" || exit 1
has_tool() { command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed" && false; }; }

start_mirror() {
  : >mirror.out
  "$patchbay" mirror "$@" >mirror.out 2>mirror.err &
  tool=$!
  started $tool
  wait_for 60 grep -q "bpftrace" mirror.out || fail "mirror $*: $(cat mirror.err)"
}
end_mirror() {
  kill -INT $tool
  wait $tool
  same "$1: mirror's status" 0 $?
  same "$1: no line is left" "" "$(grep -F "$work/" $tracefs/uprobe_events)"
}
# listeners FILE : the semaphore, as the process has it.
listeners() {
  local at
  at=$(awk -v file="$1" '$6 == file && $2 ~ /^rw/ { split($1, a, "-"); print a[1] }' \
    "/proc/$pid/maps")
  [[ $at ]] || return 1
  dd if="/proc/$pid/mem" bs=1 count=2 skip=$((16#$at)) 2>/dev/null | od -An -tu2 | xargs
}
listens() { [[ $(listeners "$1") == "$2" ]]; }
# has_set_up PID : it sleeps in poll(), epoll_wait() or one of their kin, which these tools do when
# everything is attached and enabled.
has_set_up() { grep -qE '^(7|232|271|281|441) ' "/proc/$1/syscall"; }
# start_listener FILE TOOL… : sets listener; returns when it is attached.
start_listener() {
  local file=$1
  shift
  "$@" >listener.out 2>&1 &
  listener=$!
  started $listener
  wait_for 90 listens "$file" 1 || fail "$1 does not listen: $(tail -n 3 listener.out)"
  wait_for 90 has_set_up "$listener" || fail "$1 does not get ready: $(tail -n 3 listener.out)"
}
end_listener() {
  kill -INT $listener
  wait $listener
  wait_for 60 listens "$1" 0 || fail "the semaphore is not 0 again: $(listeners "$1")"
}
ask() {
  echo "$1" >&3
  read -r -t 60 answer <&4
  same "the program: $1" "done" "$answer"
}
expected="80 text 0 80 text 1 80 text 2 80 text 3 80 text 4"
texts() { sed -n 's/.* text="\(text [0-9]*\)".*/\1/p' "$1" | sort | uniq -c | xargs; }

# --- our own program
start_driven mirror_calls
start_mirror -p "$pid" 'mirrored_work(int n, string text)'
file=$PATCHBAY_DIR/$pid/mirror/functions.mirrored_work
# What a tool needs beside itself, as the rights of a container, may be missing.
if has_tool perf; then
  if perf record -q -o probe.data -e functions:mirrored_work -p "$pid" true >perf.out 2>&1; then
    start_listener "$file" perf record -q -o perf.data -e functions:mirrored_work -p "$pid"
    ask "run 4 100"
    end_listener "$file"
    perf script -i perf.data >perf.txt 2>/dev/null
    same "perf: counts and texts" "$expected" "$(texts perf.txt)"
  else
    echo "SKIPPED: perf cannot record here: $(tail -n 1 perf.out)"
  fi
fi
if has_tool trace-cmd; then
  if trace-cmd record -o probe.dat -e functions:mirrored_work true >trace-cmd.out 2>&1; then
    start_listener "$file" trace-cmd record -o trace.dat -e functions:mirrored_work
    ask "run 4 100"
    end_listener "$file"
    trace-cmd report -i trace.dat 2>/dev/null >trace.txt
    same "trace-cmd: counts and texts" "$expected" "$(texts trace.txt)"
  else
    echo "SKIPPED: trace-cmd cannot record here: $(tr "\n" " " <trace-cmd.out)"
  fi
fi
# bpf FILE EVENT ACTION : bpftrace with a map, as JSON in bpf.json.
bpf() {
  start_listener "$1" env BPFTRACE_STRLEN=200 bpftrace -f json -o bpf.json -p "$pid" \
    -e "usdt:$1:$2 { $3 }"
}
# The map as "COUNT KEY" lines.
map_lines() {
  python3 - bpf.json <<'PYTHON'
import json, sys
for line in open(sys.argv[1]):
    entry = json.loads(line)
    if entry["type"] == "map":
        for rows in entry["data"].values():
            for key, count in rows.items():
                print(count, key.strip())
PYTHON
}
has_bpf=
if has_tool bpftrace && has_tool python3; then
  if bpftrace -e 'BEGIN { exit(); }' >bpf.out 2>&1; then
    has_bpf=1
  else
    echo "SKIPPED: bpftrace cannot run here: $(tail -n 1 bpf.out)"
  fi
fi
if [[ $has_bpf ]]; then
  bpf "$file" functions:mirrored_work '@[str(arg1)] = count();'
  ask "run 4 100"
  end_listener "$file"
  same "bpftrace: counts and texts" "$expected" "$(map_lines | sort -k 3 | xargs)"
fi
end_mirror "our own program"
exec 3>&-
wait "$pid"
same "the program never knew" 0 $?

# --- sqlite3: texts of its statements, in our histogram and in a map of the kernel's
if [[ $has_bpf ]] && has_tool sqlite3; then
  mkfifo statements
  LD_PRELOAD=$agent sqlite3 -batch :memory: <statements >results 2>&1 &
  pid=$!
  started $pid
  exec 3>statements
  wait_for 60 "$patchbay" ls $pid
  start_mirror -p $pid 'sqlite3_prepare_v2(NULL, string sql, int n)'
  trigger=events/functions/sqlite3_prepare_v2/trigger
  file=$PATCHBAY_DIR/$pid/mirror/functions.sqlite3_prepare_v2
  "$patchbay" write $pid $trigger 'hist:keys=sql:size=4096'
  bpf "$file" functions:sqlite3_prepare_v2 '@[str(arg0)] = count();'
  {
    echo "create table t(a, b);"
    for ((i = 0; i < 300; i++)); do echo "insert into t values($((i % 7)), 'x');"; done
    echo "select 'end of', count(*) from t;"
  } >&3
  wait_for 60 grep -q "end of|300" results || fail "sqlite3 does not answer: $(tail -n 2 results)"
  ours=$("$patchbay" cat $pid events/functions/sqlite3_prepare_v2/hist |
    sed -n 's/^{ sql: \(.*[^ ]\) *} hitcount: *\([0-9]*\).*/\2 \1/p' | sort)
  end_listener "$file"
  same "sqlite3: the map is our histogram" "$ours" "$(map_lines | sort)"
  same "sqlite3: and it has them all" 300 \
    "$(map_lines | awk '/insert into t/ { n += $1 } END { print n }')"
  "$patchbay" write $pid $trigger '!hist:keys=sql:size=4096'
  end_mirror "sqlite3"
  exec 3>&-
  wait $pid
  same "sqlite3 never knew" 0 $?
fi
finish
