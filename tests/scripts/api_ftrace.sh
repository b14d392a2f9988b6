#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that traces itself with callbacks (patchbay/ftrace.h): what they are given, filters,
# mistakes, threads that call while they come and go, a forked child; and compiled as C++.
#
#   api_ftrace.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$build/tests/programs/api_ftrace
source=$here/../programs/api_ftrace.c
[[ -x $program ]] || skip "no $program"

same "callbacks of a program" ok "$("$program" 2>&1)"
header_compiles ftrace.h "gcc -x c -std=gnu11" "g++ -x c++ -std=gnu++20"
compile_as_cxx "$source"
same "callbacks of a C++ program" ok "$("$work/cxx" 2>&1)"

export arguments=
# The places where agents and tools meet, one after the other; without any of them the program has
# its buffers in memory.
without() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  env -u PATCHBAY_DIR -u XDG_RUNTIME_DIR unshare -m sh -c '
    mount --bind "$1" /mnt || exit 1  # it may lie in a place that goes away
    program=$2; shift 2
    for place; do mount -t tmpfs -o ro none "$place" || exit 1; done
    LD_LIBRARY_PATH=/mnt/lib exec "/mnt/$program" $arguments' sh "$build" \
    "${program#"$build/"}" "$@" 2>&1
}
if unshare -m true 2>/dev/null; then
  same "without /dev/shm" ok "$(without /dev/shm)"
  same "without /run and /tmp" ok "$(without /run /tmp)"
  same "without /run, /tmp and /dev/shm" ok "$(without /run /tmp /dev/shm)"
  out=$(without /run /tmp /dev/shm /var/tmp)
  has "without any of them" "$out" '^ok$'
  said='^patchbay: .*stays in its memory.*PATCHBAY_DIR'
  same "which is said once" 1 "$(grep -c "$said" <<<"$out")"
  # What records, resizes, takes snapshots and forks.
  for line in "api_trace_array events" "api_trace_array recording" "api_trace_array snapshots" \
    "api_trace_array fork" "api_changes 4 40"; do
    program=$programs/${line%% *}
    export arguments=${line#* }
    has "without any of them: $line" "$(without /run /tmp /dev/shm /var/tmp)" '^ok$'
  done
else
  echo "SKIPPED: no mount namespaces: read-only places were not tried"
fi
finish
