#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which share of all functions of large libraries can be patched by a jump or a sled: at least 97 %
# (short functions included); the rest by int3, or refused with a reason each.
. "$(dirname "$0")/common.bash"
need python3

# judge PATTERN PID : counts the kinds of the functions whose library matches.
judge() {
  "$patchbay" cat "$2" debug/function_kinds >"$work/listed" || fail "$1: list"
  "$patchbay" cat "$2" debug/refused_functions >"$work/refused" || fail "$1: refused"
  python3 - "$1" "$work/listed" "$work/refused" <<'PYTHON'
import re, sys
pattern, kinds, refused, unexplained = sys.argv[1], {}, 0, 0
for line in open(sys.argv[2], errors="replace"):
    match = re.match(r"(.*) \[([^\]]*)\] (\S+)", line)
    if match and re.match(pattern, match.group(2)):
        kinds[match.group(3)] = kinds.get(match.group(3), 0) + 1
for line in open(sys.argv[3], errors="replace"):
    match = re.match(r"(.*) \[([^\]]*)\] ?(.*)", line)
    if match and re.match(pattern, match.group(2)) and "never called" not in match.group(3):
        refused += 1  # cold parts split off a function are not functions
        unexplained += not match.group(3).strip()
total = sum(kinds.values()) + refused
good = total - refused - kinds.get("int3", 0)
share = 100 * good / max(total, 1)
print(f"{pattern}: {total} functions: {kinds}, {refused} refused: {share:.2f} %")
sys.exit(total == 0 or unexplained > 0 or good < 0.97 * total)
PYTHON
}

# in_process NAME PATTERN COMMAND… : a program that waits on its standard input.
in_process() {
  local name=$1 pattern=$2 pid
  shift 2
  command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed"; return; }
  rm -f "$work/fifo"
  mkfifo "$work/fifo"
  LD_PRELOAD=$agent "$@" <"$work/fifo" >/dev/null 2>"$work/err" &
  pid=$!
  started "$pid"
  exec 9>"$work/fifo"
  check "$name: the agent answers" wait_for 20 "$patchbay" cat "$pid" debug/counters >/dev/null
  check "$name: is loaded" wait_for 20 grep -qE "$pattern" "/proc/$pid/maps"
  check "$name: at least 97 %" judge "$pattern" "$pid"
  exec 9>&-
  wait "$pid"
}

in_process libsqlite3 libsqlite3 sqlite3 :memory:
in_process libcrypto libcrypto openssl dgst -sha256
in_process node node node -i
in_process libstdc++ 'libstdc\+\+' python3 -c \
  'import ctypes, sys; ctypes.CDLL("libstdc++.so.6"); sys.stdin.read()'
finish
