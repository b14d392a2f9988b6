# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The mask as text.
for text in 1 0 x 1,00000000000000000000 ',1' 01 0x1 '1\n' 00000000,00000001; do
  w tracing_cpumask "$text"
  r tracing_cpumask
done
