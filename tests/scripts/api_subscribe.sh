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
[[ -x $program ]] || skip "no $program"

same "a program's subscriptions" ok "$("$program" 2>&1)"
header_compiles subscribe.h "gcc -x c -std=c11" "g++ -x c++ -std=gnu++20"
compile_as_cxx "$source"
same "a C++ program's subscriptions" ok "$("$work/cxx" 2>&1)"
same "an unloaded library takes its callbacks along" ok \
  "$(timeout 100 "$build/tests/programs/api_callback_unload" 10 2>&1)"
finish
