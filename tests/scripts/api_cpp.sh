#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The C++ API (patchbay/patchbay.hpp): a program that uses all of it, with an agent and without; and
# it compiles without a warning with g++ and clang++.
#
#   api_cpp.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$programs/api_cpp
include=$here/../../include
[[ -x $program ]] || skip "no $program"

same "a program with the C++ API" ok "$(timeout 120 "$program" 2>"$work/err")"
same "it is told what was wrong by results alone" "" "$(cat "$work/err")"
# Where no runtime directory can be had there is no agent.
: >"$work/file"
same "without an agent" "no agent" "$(PATCHBAY_DIR=$work/file timeout 120 "$program" 2>/dev/null)"
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || continue
  for names in "" -DPATCHBAY_NO_KERNEL_NAMES; do
    out=$($compiler -std=c++20 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I"$include" $names \
      -fsyntax-only "$here/../programs/api_cpp.cc" 2>&1)
    same "it compiles: $compiler $names" "" "$out"
  done
done
finish
