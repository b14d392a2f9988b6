#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Somebody changes the size of the buffer, and of its sub-buffers, while `patchbay record` takes
# events out of it. Each call is in the file exactly once, or counted as lost.
#   record_resize.sh BUILD_DIR [CHANGES]
. "$(dirname "$0")/common.bash"
need python3
changes=${1:-6}
threads=2

# COUNTERS REPORT LOST THREADS: what was counted, what is in the file, what is said to be lost.
cat >"$work/judge.py" <<'PYTHON'
import re, struct, sys
counter_file, report, lost, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(counter_file, "rb") as raw:
    counted = [struct.unpack_from("<q", raw.read(64))[0] for _ in range(threads)]
calls = [[] for _ in range(threads)]
for line in open(report, encoding="utf-8", errors="replace"):
    match = re.search(r"->counted\(thread=(\d+), i=(\d+)\)", line)
    if match:
        calls[int(match.group(1))].append(int(match.group(2)))
for thread in range(threads):
    if len(set(calls[thread])) != len(calls[thread]):
        print(f"thread {thread}: an event twice")
    if calls[thread] != sorted(calls[thread]):
        print(f"thread {thread}: its events are not in order")
total = sum(map(len, calls)) + lost
if not sum(counted) <= total <= sum(counted) + threads:
    print(f"counted {sum(counted)}, but recorded and lost are {total} ({lost} lost)")
PYTHON

# Sizes in turn, smaller and larger, for one file of the tree.
change_sizes() {
  local pid=$1 directory=$2 file=$3 n sizes
  shift 3
  sizes=("$@")
  for ((n = 0; n < changes; n++)); do
    sleep 0.1
    "$patchbay" write "$pid" "$directory$file" "${sizes[n % ${#sizes[@]}]}" >"$work/write.out" \
      2>&1 || fail "$file: $(cat "$work/write.out")"
  done
}

judge() {
  local what=$1 counter=$2 file=$3
  events_of "$file" >"$work/report"
  same "$what" "" \
    "$(python3 "$work/judge.py" "$counter" "$work/report" "$(summary_lost "$work/err")" $threads)"
  check "$what: there are events" test -s "$work/report"
  if command -v trace-cmd >/dev/null; then
    same "$what: trace-cmd's count" "$(wc -l <"$work/report")" \
      "$(trace-cmd report -i "$file" 2>/dev/null | grep -c 'counted:')"
  fi
}

# A program that record starts; its end is the end of the recording.
of_a_program() {
  local what=$1 counter=$work/counter recorder pid
  shift
  rm -f "$counter"
  "$patchbay" record -b 256 -e 'counted(int thread, long i)' -o "$work/a.dat" -- \
    "$programs/shared_counter" "$counter" $threads 200 2>"$work/err" &
  recorder=$!
  wait_for 10 test -s "$counter" || { fail "$what: the program starts"; return; }
  pid=$(basename "$(dirname "$(ls "$PATCHBAY_DIR"/*/ctl.sock)")")
  started "$pid"
  change_sizes "$pid" "" "$@"
  sleep 0.1
  kill -9 "$pid"
  wait $recorder
  judge "$what" "$counter" "$work/a.dat"
}

# A running program, into an instance; recording ends by a signal.
of_a_process() {
  local what=$1 counter=$work/counter recorder pid
  shift
  rm -f "$counter"
  LD_PRELOAD=$agent "$programs/shared_counter" "$counter" $threads 200 &
  pid=$!
  started $pid
  wait_for 10 test -S "$PATCHBAY_DIR/$pid/ctl.sock"
  "$patchbay" record -p $pid -B other -e 'counted(int thread, long i)' -o "$work/a.dat" \
    2>"$work/err" &
  recorder=$!
  wait_for 10 test -e "$PATCHBAY_DIR/$pid/instances/other/buffer"
  wait_for 10 grep -q '^1' <("$patchbay" cat $pid instances/other/events/functions/counted/enable)
  change_sizes $pid instances/other/ "$@"
  sleep 0.1
  kill -INT $recorder
  wait $recorder
  events_of "$work/a.dat" >"$work/report"
  # It did not begin with the first call: between a thread's first and last none is missing.
  same "$what" "" "$(python3 - "$work/report" "$(summary_lost "$work/err")" <<'PYTHON'
import re, sys
calls = {}
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    match = re.search(r"->counted\(thread=(\d+), i=(\d+)\)", line)
    if match:
        calls.setdefault(match.group(1), []).append(int(match.group(2)))
missing = sum(max(c) - min(c) + 1 - len(c) for c in calls.values())
if not calls or any(c != sorted(set(c)) for c in calls.values()) or missing > int(sys.argv[2]):
    print(f"{ {t: len(c) for t, c in calls.items()} }, {missing} missing, {sys.argv[2]} said")
PYTHON
)"
  kill -9 $pid
  wait $pid 2>/dev/null
  rm -rf "${PATCHBAY_DIR:?}/$pid"
}

of_a_program "buffer_size_kb" buffer_size_kb 64 512 16 1408
of_a_program "buffer_subbuf_size_kb" buffer_subbuf_size_kb 16 4 64 8
of_a_process "buffer_size_kb of an instance" buffer_size_kb 64 512 16 1408
finish
