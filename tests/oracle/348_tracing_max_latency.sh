# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Microseconds, kept as nanoseconds; each instance has its own.
r tracing_max_latency
for text in 100 18446744073709551 18446744073709551615 18446744073709551616 x -1 0x10 '7\n' 0; do
  w tracing_max_latency "$text"
  r tracing_max_latency
done
mkdir instances/other
w instances/other/tracing_max_latency 9
r instances/other/tracing_max_latency
r tracing_max_latency
w tracing_max_latency 0
rmdir instances/other
