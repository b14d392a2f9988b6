#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 at random moments. A program with four threads counts, in a mapped file, each call right
# after it has returned. After its death every counted call must be in what `patchbay recover` makes
# of the flight recorder's file, and at most one more a thread (the one that was returning). trace-
# cmd reads the result too.
#   kill9.sh BUILD_DIR [TIMES]
. "$(dirname "$0")/common.bash"
need python3 setsid
times=${1:-20}
threads=4

# Prints what is wrong; nothing when all is well.
cat >"$work/judge.py" <<'PYTHON'
import re, struct, sys
counter_file, report, totals = sys.argv[1:4]
threads, complete = int(sys.argv[4]), sys.argv[5] == "1"
with open(counter_file, "rb") as raw:
    counted = [struct.unpack_from("<q", raw.read(64))[0] for _ in range(threads)]
order = [[] for _ in range(threads)]
for line in open(report, encoding="utf-8", errors="replace"):
    match = re.search(r"->counted\(thread=(\d+), i=(\d+)\)", line)
    if match:
        order[int(match.group(1))].append(int(match.group(2)))
for thread in range(threads):
    calls = order[thread]
    if len(set(calls)) != len(calls):
        print(f"thread {thread}: an event twice")
    if not complete:
        continue  # rings were overwritten, each CPU's on its own: see the totals below
    last = max(calls, default=-1)
    if not counted[thread] <= last + 1 <= counted[thread] + 1:
        print(f"thread {thread}: counted {counted[thread]}, last event {last}")
    if calls != sorted(calls):
        print(f"thread {thread}: its events are not in order")
    if len(calls) != last + 1:
        print(f"thread {thread}: {last + 1 - len(calls)} events are missing")
if not any(order):
    print("no event at all")
# Every published event is either in the file or counted as overwritten.
match = re.search(r": (\d+) events recovered, (\d+) lost", open(totals).read())
total = int(match.group(1)) + int(match.group(2))
if not sum(counted) <= total <= sum(counted) + threads:
    print(f"counted {sum(counted)}, but recovered and lost are {total}")
if int(match.group(1)) != sum(map(len, order)):
    print(f"{match.group(1)} events recovered, {sum(map(len, order))} in the report")
PYTHON

one_death() {
  local number=$1 pause=$2 complete=$3 dir=$work/run$1 counter=$work/counter$1
  mkdir -m 700 "$dir"
  PATCHBAY_DIR=$dir PATCHBAY_FUNCTION_EVENTS='counted(int thread, long i)' \
    PATCHBAY_TRACE_EVENT='functions:*' LD_PRELOAD=$agent \
    "$programs/shared_counter" "$counter" $threads "$pause" 2>"$work/program.err" &
  local pid=$!
  started "$pid"
  wait_for 10 test -s "$counter" || { fail "death $number: the program did not start"; return; }
  sleep "0.0$((RANDOM % 90 + 10))"
  kill -9 $pid
  wait $pid 2>/dev/null
  if ! "$patchbay" recover "$dir" -o "$work/r.dat" >"$work/recover.out" 2>&1; then
    fail "death $number: recover failed: $(tail -n 1 "$work/recover.out")"
    return
  fi
  events_of "$work/r.dat" >"$work/report"
  same "death $number (pause $pause)" "" \
    "$(python3 "$work/judge.py" "$counter" "$work/report" "$work/recover.out" $threads \
      "$complete" 2>&1)"
  if command -v trace-cmd >/dev/null; then
    same "death $number: trace-cmd's count" "$(wc -l <"$work/report")" \
      "$(trace-cmd report -i "$work/r.dat" 2>/dev/null | grep -c 'counted')"
  fi
  recovered=$((recovered + $(wc -l <"$work/report")))
  rm -rf "$dir" "$counter" "$work/r.dat"
}

recovered=0
for ((n = 1; n <= times; n++)); do
  # By turns slow, so that nothing is overwritten and the whole history must be there, and flat out.
  if ((n % 2)); then one_death "$n" 400 1; else one_death "$n" 0 0; fi
done
echo "$times deaths, $recovered events recovered"
finish
