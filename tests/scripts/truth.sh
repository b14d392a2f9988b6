#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Generated programs in C, C++, Rust and Fortran, by all compilers and levels there are, that know
# what each of their functions is given: calls and record show that, or a mark
# (tests/truth/judge.py).
#   truth.sh BUILD_DIR [SEED [PROGRAMS]]
# Without a seed it judges two lots that were right when they were taken in.
. "$(dirname "$0")/common.bash"
need python3 nm gcc
for compiler in g++ clang clang++ ld.lld rustc; do
  command -v "$compiler" >/dev/null ||
    echo "SKIPPED: the programs of $compiler, which is not installed"
done
judge() {  # judge SEED OPTION…
  python3 "$here/../truth/judge.py" --tool "$patchbay" --keep "$work/kept" --seed "$@" \
    >"$work/judged"
  status=$?
  cat "$work/judged"
  # The sources of the first few that are wrong, as the folder is removed.
  if [ "$status" != 0 ]; then
    for why in $(find "$work/kept" -name why | sort | head -3); do
      (cd "$(dirname "$why")" && head -v -n 200 why commands ./*.c ./*.cc ./*.h 2>/dev/null)
    done
  fi
  rm -rf "$work/kept"
  check "all values are right or marked" [ "$status" = 0 ]
}
if [ $# -gt 0 ]; then
  judge "$1" --programs "${2:-300}"
else
  judge 1 --programs 40 --languages c,c++
  judge 2 --programs 30 --languages c,c++,rust
fi
finish
