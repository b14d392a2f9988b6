#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nothing is unaccounted for: recorded + lost = hits, counted by the program itself, with eight
# threads, in both modes and with buffers from ample to far too small.
#   accounting.sh BUILD_DIR [CALLS_PER_THREAD]
. "$(dirname "$0")/common.bash"
calls=${1:-100000}
lost_once=0
for mode in drop overwrite; do
  for size in 64 512 16384; do
    hits=$("$patchbay" record -o "$work/t.dat" --mode "$mode" -b "$size" \
      -e 'work(int thread, long i)' -- "$examples/threads" 8 "$calls" 2>"$work/err")
    events=$(summary_events "$work/err")
    lost=$(summary_lost "$work/err")
    same "$mode $size KB: recorded ($events) + lost ($lost) = hits" "${hits#hits }" \
      $((events + lost))
    same "$mode $size KB: events in the file" "$events" "$(count_of "$work/t.dat" work)"
    ((lost > 0)) && lost_once=1
    echo "$mode $size KB: $events recorded + $lost lost = ${hits#hits }"
    rm -f "$work/t.dat"
  done
done
# An entry of function_graph that is dropped takes its exit along, and both are counted.
for mode in drop overwrite; do
  hits=$("$patchbay" record -o "$work/t.dat" --mode "$mode" -b 64 -t function_graph -l work \
    -- "$examples/threads" 8 "$calls" 2>"$work/err")
  events=$(summary_events "$work/err")
  lost=$(summary_lost "$work/err")
  same "graph, $mode: recorded ($events) + lost ($lost) = entries and exits" \
    $((2 * ${hits#hits })) $((events + lost))
  rm -f "$work/t.dat"
done
check "a small buffer did lose something, so that the sum means something" test $lost_once = 1
finish
