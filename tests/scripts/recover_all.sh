#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# After kill -9: what instances and snapshots held is listed, recovered, reported and dumped with
# the events of the top buffer. What was published is there, in whichever buffer it was.
. "$(dirname "$0")/common.bash"
counter=$work/counter

LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS='counted(int thread, long i)' PATCHBAY_TRACE_EVENT='' \
  "$programs/shared_counter" "$counter" 2 300 2>"$work/program.err" &
pid=$!
started $pid
wait_for 10 test -s "$counter" || fail "the program starts"
w() { "$patchbay" write $pid "$1" "$2" >"$work/out" 2>&1 || fail "write $1: $(cat "$work/out")"; }
"$patchbay" start -p $pid -B other -e functions:counted -b 4096 || fail "start -B other"
w events/functions/counted/enable 1
sleep 0.1
w events/functions/counted/enable 0
w snapshot 1
w events/functions/counted/enable 1
sleep 0.1
kill -9 $pid
wait $pid 2>/dev/null

dir=$PATCHBAY_DIR/$pid
listed=$("$patchbay" list processes)
has "the process is listed as dead" "$listed" " dead .*$dir "
has "its instance" "$listed" " KB  $dir/instances/other/buffer"
has "its snapshot" "$listed" " KB  $dir/snapshot"
has "and as JSON" "$("$patchbay" list processes --json)" '"buffers": \["", "snapshot", "other"\]'

# events_in FILE BUFFER : the events of one buffer of a recording, one a line.
events_in() {
  "$patchbay" report -i "$1" 2>/dev/null | awk -v want="$2" '
    /^# instance: / { name = substr($0, 13) }
    name == want && /->counted\(/ { print }'
}
count_in() { events_in "$1" "$2" | wc -l; }

for version in 7 6; do
  check "recover, version $version" \
    "$patchbay" recover "$dir" --format $version -o "$work/r.dat" >"$work/recover.out"
  for buffer in "" snapshot other; do
    check "version $version: events of '$buffer'" test "$(count_in "$work/r.dat" "$buffer")" -gt 0
    same "version $version: report of the directory, '$buffer'" \
      "$(count_in "$work/r.dat" "$buffer")" "$(count_in "$dir" "$buffer")"
  done
  sum=$(events_of "$work/r.dat" | wc -l)
  has "version $version: all are counted" "$(cat "$work/recover.out")" \
    ": $sum events recovered, 0 lost"
  if command -v trace-cmd >/dev/null; then
    same "version $version: trace-cmd's count" "$sum" \
      "$(trace-cmd report -i "$work/r.dat" 2>/dev/null | grep -c 'counted:')"
  fi
done
# The instance recorded all the time: each thread's calls without a gap, up to the last.
same "the instance misses nothing" "" "$(events_in "$work/r.dat" other |
  sed 's/.*counted(thread=\([0-9]*\), i=\([0-9]*\)).*/\1 \2/' |
  awk '{ if ($1 in last && $2 != last[$1] + 1) print "thread " $1 " after " last[$1] ": " $2
         last[$1] = $2 }')"
check "an instance's file alone" \
  "$patchbay" recover "$dir/instances/other/buffer" -o "$work/one.dat" >/dev/null
same "has its events" "$(count_in "$work/r.dat" other)" "$(count_in "$work/one.dat" other)"
dump=$("$patchbay" dump "$dir")
has "dump shows the instance" "$dump" "^buffer 'other' in "
has "dump shows the snapshot" "$dump" "^buffer 'snapshot' in "
# A damaged part costs the others nothing.
printf 'no buffer' >"$dir/snapshot"
"$patchbay" recover "$dir" -o "$work/r.dat" >"$work/recover.out" 2>&1
has "a damaged snapshot is named" "$(cat "$work/recover.out")" 'snapshot: not a buffer file'
check "and the instance is there" test "$(count_in "$work/r.dat" other)" -gt 0
finish
