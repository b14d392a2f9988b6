#!/bin/bash
# SPDX-License-Identifier: MIT
# The sequences of tests/oracle in our mount of the stand-in kernel, compared with the answers of a
# real one (*.golden). Where Patchbay has decided otherwise, NAME.differs holds sed commands that
# make our answer out of the kernel's, each under a comment that names the decision.
#
#   oracle_same.sh BUILD_DIR [NAME…]       KEEP=DIR: leaves our answers there
. "$(dirname "$0")/common.bash"
. "$here/../oracle/common.bash"
. "$here/mounted.bash"
need sed
need_mount
call=$build/tests/oracle/tracefs_call
[[ -x $call ]] || skip "no $call"
answers=${KEEP:-$work/answers}
mkdir -p "$answers"

# run SEQUENCE.sh… : on one stand-in of their own; should it die, the rest on another.
run() {
  local status last
  while (($#)); do
    start_standin --rate=0 || return
    joined "$call" "$@" >"$work/script"
    (cd "$mounted" && timeout 300 sh "$work/script") >"$work/all" 2>"$work/errors"
    status=$?
    split_answers "$answers" answer <"$work/all"
    stop_standin
    ((status == 9)) || return
    last=$(sed -n 's/^@@@ //p' "$work/all" | tail -n 1)
    fail "the stand-in died in $last"
    while (($#)) && [[ $1 != */$last.sh ]]; do shift; done
    shift
  done
}
# expected NAME : what ours has to be.
expected() {
  if [[ -e $oracle/$1.differs ]]; then
    sed -E -f "$oracle/$1.differs" "$oracle/$1.golden"
  else
    cat "$oracle/$1.golden"
  fi
}

(($#)) || set -- "$oracle"/[0-9]*.sh
together=() names=()
for one in "$@"; do
  names+=("$(basename "$one" .sh)")
  sequence=$oracle/${names[-1]}.sh
  if is_fresh "$sequence"; then run "$sequence"; else together+=("$sequence"); fi
done
((${#together[@]} == 0)) || run "${together[@]}"
for name in "${names[@]}"; do
  checks=$((checks + 1))
  touch "$answers/$name.answer"
  "$oracle/normalise" "$answers/$name.answer" >"$answers/$name.ours"
  expected "$name" >"$answers/$name.expected"
  diff -u --label "kernel" --label "ours" "$answers/$name.expected" "$answers/$name.ours" \
    >"$answers/$name.diff" && continue
  fail "$name"
  head -n "${LINES_SHOWN:-20}" "$answers/$name.diff" | cut -c1-160 | sed 's/^/  /'
done
finish
