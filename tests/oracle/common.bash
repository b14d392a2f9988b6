# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What `record` (the kernel's answers) and tests/scripts/oracle_same.sh (ours) share.
oracle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# joined CALL_PROGRAM SEQUENCE.sh… : one script for a POSIX shell that runs the sequences one after
# the other, each in a shell of its own and each on a tree that is as after the start. It ends with
# 9 when the tree is gone.
joined() {
  local sequence call=$1
  shift
  printf 'CALL=%s\n' "$call"
  cat "$oracle/prelude.sh"
  for sequence in "$@"; do
    printf '\ncat tracing_on >/dev/null || exit 9\necho "@@@ %s"\n(\n' "$(basename "$sequence" .sh)"
    cat "$sequence"
    printf '\n) 2>/dev/null\nreset_tree >/dev/null 2>&1\n'
  done
}
# split_answers DIR ENDING : standard input into DIR/NAME.ENDING at the lines "@@@ NAME".
split_answers() {
  awk -v dir="$1" -v ending="$2" '/^@@@ / { if (file) close(file)
    file = dir "/" $2 "." ending; printf "" > file; next } file { print > file }'
}
# Sequences that ask about the time before the first use need a system of their own.
is_fresh() { grep -qx '# fresh' "$1"; }
