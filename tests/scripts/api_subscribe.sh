#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that listens to its own events (patchbay/subscribe.h): static and function events,
# filters, fields, mistakes, threads that call while listeners come and go, a forked child, a
# library that is unloaded with its callbacks; and compiled as C++.
#
#   api_subscribe.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$build/tests/programs/api_subscribe
source=$here/../programs/api_subscribe.c
include=$here/../../include
[[ -x $program ]] || skip "no $program"

same "a program's subscriptions" ok "$("$program" 2>&1)"
for language in "gcc -x c -std=c11" "g++ -x c++ -std=gnu++20"; do
  for names in "" -DPATCHBAY_NO_KERNEL_NAMES; do
    out=$(echo '#include <patchbay/subscribe.h>' |
      $language -Wall -Wextra -Wpedantic -Werror -I"$include" $names -fsyntax-only - 2>&1)
    same "the header compiles: $language $names" "" "$out"
  done
done
g++ -std=c++20 -x c++ -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$include" "$source" -x none \
  -o "$work/cxx" "$build/lib/libpatchbay.so" -Wl,-rpath,"$build/lib" -lpthread 2>"$work/errors"
same "it compiles as C++20" "" "$(cat "$work/errors")"
same "a C++ program's subscriptions" ok "$("$work/cxx" 2>&1)"
same "an unloaded library takes its callbacks along" ok \
  "$(timeout 100 "$build/tests/programs/api_callback_unload" 10 2>&1)"
finish
