# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Every clock can be set.
r trace_clock
for clock in global counter uptime perf mono mono_raw boot tai x86-tsc local; do
  w trace_clock "$clock\n"
  r trace_clock
done
