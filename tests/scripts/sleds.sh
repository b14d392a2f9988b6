#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The sleds of compilers: patchable-function-entry with room for a jump, with bytes before the
# entry, with too little room, and -mfentry nops. Every call is seen, and the kind is as expected.
. "$(dirname "$0")/common.bash"

ran=0
for program in "$programs"/calls_sled_*; do
  [[ -x $program ]] || continue
  ran=$((ran + 1))
  name=$(basename "$program")
  out=$("$patchbay" record -o "$work/$name.dat" -e 'two_numbers(int a, int b)' \
    -e 'a_string(string s)' -e 'floats(double x, float y)' -- "$program" 2>"$work/err")
  same "$name: output" "calls: 6643200 501000.0" "$out"
  events=$(events_of "$work/$name.dat")
  same "$name: two_numbers" 1000 "$(grep -c -- '->two_numbers(' <<<"$events")"
  same "$name: a_string" 100 "$(grep -c -- '->a_string(s=a string of twenty..)' <<<"$events")"
  same "$name: floats" 1000 "$(grep -c -- '->floats(' <<<"$events")"
  has "$name: values" "$events" 'main->two_numbers\(a=999, b=1000\)'
  if [[ $name != *_short ]]; then
    kinds=$(LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS='traced()' "$patchbay" list functions -- \
      "$program" 2>/dev/null | grep -w two_numbers)
    [[ -z $kinds ]] || has "$name: its kind" "$kinds" 'sled'
  fi
done
check "at least one sled program was built" test "$ran" -gt 0
finish
