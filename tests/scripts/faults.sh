#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Faults that are ours, where it is hard to catch them: docs/fault_fixups.md has them all.
. "$(dirname "$0")/common.bash"

# recorded PROGRAM ARGUMENT… : `patchbay record ARGUMENT…` changes neither output nor status.
recorded() {
  local program=$1 plain traced status
  shift
  plain=$(timeout -k 5 60 "$programs/$program" 2>&1)
  status=$?
  traced=$(timeout -k 5 60 "$patchbay" record -o "$work/$program.dat" "$@" -- \
    "$programs/$program" 2>"$work/$program.err")
  same "$program, $*: status" "$status" $?
  traced+=$(grep -v '^\[\? *patchbay' "$work/$program.err")
  same "$program, $*: output" "$plain" "$traced"
}

# Slots of threads that are gone are looked at where libc has all signals blocked.
for _ in 1 2 3; do recorded blocked_windows -t function_graph -l ':mod:libc.so*'; done
recorded blocked_windows -t function_graph -l '*' -e 'named(string name, long n)' \
  -e 'execve(string path)' -e 'r:returned named $retval'

# The clock must not be read: strict seccomp, PR_TSC_SIGSEGV. (`programs` has the event alone.)
recorded no_clock -t function_graph -l traced
recorded no_clock -t function -l traced -e 'r:returned traced $retval'

# The end of the stack, met by each way to the probe; the program's handler sees its own function.
for way in '-t function -l deep' '-t function_graph -l deep' '-e deep(int~n)' '-e deep(string~n)' \
  '-e r:returned~deep~$retval' '-e p:inside~deep+1~ax=%ax~sp=%sp' '-e p:all~deep~ax=%ax' \
  '-e deep(int~n) -t function_graph -l deep'; do
  arguments=()
  for word in $way; do arguments+=("${word//\~/ }"); done
  recorded stack_overflow "${arguments[@]}"
done
finish
