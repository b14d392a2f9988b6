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
# A result that has no value, or whose object is gone: a line, then the end.
for how in no_value ended; do
  # The shell's own line about the signal is not of interest.
  { "$program" $how >/dev/null 2>"$work/err"; } 2>/dev/null
  check "$how: the program ends" test $? -gt 128
  same "$how: one line" 1 "$(wc -l <"$work/err")"
done
has "whose object is gone" "$(cat "$work/err")" '^patchbay: a result is used after its end'
has "without a value" "$("$program" no_value 2>&1)" \
  '^patchbay: the value of a result .*: The name of an instance'

# The kernel's names come with the headers for C, in any order, and mean the same structures.
cat >"$work/both.cc" <<'PROGRAM'
#ifdef BEFORE
#include <patchbay/patchbay.hpp>
#endif
#include <patchbay/ftrace.h>
#include <patchbay/trace.h>
#include <patchbay/trace_events.h>
#include <patchbay/patchbay.hpp>
static_assert(sizeof(ftrace_ops) == sizeof(patchbay::c::ftrace_ops));
static_assert(offsetof(ftrace_ops, patchbay_id) == offsetof(patchbay::c::ftrace_ops, patchbay_id));
static_assert(sizeof(synth_field_desc) == sizeof(patchbay::c::synth_field_desc));
static_assert(FTRACE_OPS_FL_ENABLED == patchbay::c::ftrace_ops_is_enabled);
int main() {
  auto array = patchbay::instance::top();
  tracing_on();
  return trace_array_name(array.handle())[0];
}
PROGRAM
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || continue
  for how in "-std=c++20" "-std=c++20 -DBEFORE" "-std=c++2b -fno-exceptions -fno-rtti"; do
    # shellcheck disable=SC2086  # several words
    out=$($compiler $how -D_GNU_SOURCE -Wall -Wextra -Werror -I"$include" -fsyntax-only \
      "$work/both.cc" 2>&1)
    same "with the headers for C: $compiler $how" "" "$out"
  done
done
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || continue
  for names in "" -DPATCHBAY_NO_KERNEL_NAMES; do
    out=$($compiler -std=c++20 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I"$include" $names \
      -fsyntax-only "$here/../programs/api_cpp.cc" 2>&1)
    same "it compiles: $compiler $names" "" "$out"
  done
done
finish
