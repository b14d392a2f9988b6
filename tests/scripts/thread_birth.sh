#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The first functions of a thread are hit before libc has registered it for restartable sequences.
# They must not come into the ring of a CPU that somebody else is writing: no event is lost, damaged
# or counted twice.
#   thread_birth.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
taskset -c 0,1 taskset -c 1 taskset -c 0 true 2>/dev/null || skip "there are no CPUs 0 and 1"
threads=300

# run NAME OPTION… : records the program in buffers that hold all of it; sets busy.
run() {
  local name=$1
  shift
  "$patchbay" record -o "$work/x.dat" -b 131072 "$@" -- "$programs/thread_birth" $threads \
    >"$work/said" 2>"$work/err" || fail "$name: $(<"$work/err")"
  busy=$(sed -n 's/^busy //p' "$work/said")
  same "$name: the program's own count" $threads "$(sed -n 's/^body //p' "$work/said")"
  same "$name: nothing is lost" 0 "$(summary_lost "$work/err")"
  "$patchbay" report -i "$work/x.dat" >"$work/report" 2>"$work/losses"
  same "$name: each record is whole" "" "$(<"$work/losses")"
  same "$name: and of a known kind" "" "$(grep -m 3 'unknown event' "$work/report")"
}
# times NAME HOW_OFTEN REGEX
times() { same "$1: $3" "$2" "$(grep -cE -- "$3" "$work/report")"; }

run function -p function -l 'birth_*' -l start_thread -l __ctype_init
times function "$busy" ' birth_busy <-'
times function $threads ' birth_body <-'
check "function: the start of each thread" \
  test "$(grep -c ' start_thread <-' "$work/report")" -ge $threads
run graph -p function_graph -l 'birth_*' -l start_thread -l __ctype_init
times graph "$busy" ' birth_busy\(\)(;| \{)'
times graph $threads ' birth_body\(\)(;| \{)'
run events -e 'birth_busy(unsigned long n)' -e 'start_thread(NULL)' -e '__ctype_init()'
times events "$busy" '->birth_busy\('
check "events: the start of each thread" \
  test "$(grep -c -- '->start_thread(' "$work/report")" -ge $threads
finish
