#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A histogram of a function event counts each call of eight threads once: while it is all that is
# asked of the event; with a filter; and while the event, in its own instance and in another one, is
# switched on and off, so that the place goes from one code to another under the threads' feet. And
# so does a latency each pair of calls.
#   hist_counts.sh BUILD_DIR [CALLS_PER_THREAD]
. "$(dirname "$0")/common.bash"
calls=${1:-1000000}
threads=8

# expect NAME CALLS SUM : each thread has so many calls, and that sum.
expect() {
  local thread found
  for ((thread = 0; thread < threads; thread++)); do
    found=$(awk -v t="$thread" '$1 == "{" && $2 == "thread:" && $3 == t {
      for (i = 4; i < NF; i++) {if ($i == "hitcount:") h = $(i + 1); if ($i == "i:") s = $(i + 1)}
      print h, s}' "$work/table")
    same "$1, thread $thread: hits and sum" "$2 $3" "$found"
  done
}
hist=("$patchbay" hist -o "$work/table" 'work(int thread, long i)' keys=thread vals=i)
program=("$examples/threads" "$threads")

"${hist[@]}" -- "${program[@]}" "$calls" >/dev/null
expect "alone" "$calls" $((calls * (calls - 1) / 2))
"${hist[@]}" if 'i < 1000' -- "${program[@]}" "$calls" >/dev/null
expect "with a filter" 1000 $((1000 * 999 / 2))

child_of() {
  read -r pid _ <"/proc/$1/task/$1/children"  # a line without an end
  [[ $pid ]]
}
# Its agent is up, so that nobody comes to it with another one; or all is over already.
is_traced() {
  ! kill -0 "$1" || { child_of "$1" && [[ -S $PATCHBAY_DIR/$pid/ctl.sock ]]; }
}

# switch_while COMMAND… : both functions' events are switched on and off while the tool runs this;
# counts in `switched`.
switch_while() {
  "$@" >"$work/out" &
  tool=$!
  started $tool
  pid=
  wait_for 60 is_traced $tool || return
  [[ $pid ]] && started "$pid"
  switched=0
  while kill -0 $tool 2>/dev/null; do
    for file in "instances/patchbay-$tool-1/" ""; do
      for name in $functions; do
        for value in 1 0; do
          "$patchbay" write "$pid" "${file}events/functions/$name/enable" $value 2>/dev/null &&
            switched=$((switched + 1))
        done
      done
    done
  done
  wait $tool
}

# Until it has been switched often enough while the program ran; the scheduler decides how fast.
switched=0 functions=work
for ((each = calls * 4, tries = 0; tries < 4; tries++, each *= 4)); do
  switch_while "${hist[@]}" -- "${program[@]}" "$each" || break
  expect "switched $switched times" "$each" $((each * (each - 1) / 2))
  ((switched >= 10)) && break
done
check "it was switched while it ran" test "$switched" -ge 10

# --- a latency: each pair of each thread is one

latency=("$patchbay" latency first second)
pairs=("$programs/pairs" "$threads")
"${latency[@]}" -- "${pairs[@]}" "$calls" >"$work/out"
has "pairs of two functions" "$(cat "$work/out")" "^$((threads * calls)) times,"
"$patchbay" latency work work%return -- "${program[@]}" "$((calls / 10))" >"$work/out"
has "calls and their returns" "$(cat "$work/out")" "^$((threads * (calls / 10))) times,"
switched=0 functions='first second'
for ((each = calls, tries = 0; tries < 4; tries++, each *= 4)); do
  switch_while "${latency[@]}" -- "${pairs[@]}" "$each" || break
  has "pairs, switched $switched times" "$(cat "$work/out")" "^$((threads * each)) times,"
  ((switched >= 10)) && break
done
check "they were switched while they ran" test "$switched" -ge 10
finish
