#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Generated programs in C, C++ and Rust, by all compilers and levels there are, that know what each
# of their functions is given: calls and record show that, or a mark (tests/truth/judge.py).
#   truth.sh BUILD_DIR [SEED [PROGRAMS]]
. "$(dirname "$0")/common.bash"
need python3 nm gcc
for compiler in g++ clang clang++ ld.lld rustc; do
  command -v "$compiler" >/dev/null ||
    echo "SKIPPED: the programs of $compiler, which is not installed"
done
python3 "$here/../truth/judge.py" --tool "$patchbay" --seed "${1:-$RANDOM}" \
  --programs "${2:-300}" --keep "$work/kept" >"$work/judged"
status=$?
cat "$work/judged"
# The sources of the first few that are wrong, as the folder is removed.
for why in $(find "$work/kept" -name why | sort | head -3); do
  (cd "$(dirname "$why")" && head -v -n 200 why commands ./*.c ./*.cc ./*.h 2>/dev/null)
done
check "all values are right or marked" [ "$status" = 0 ]
finish
