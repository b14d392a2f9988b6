# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Numbers that are none, or too large.
for pattern in '0' '00' '1x' '0x' '09' '-1' '99999999' '18446744073709551616' '+1' '1*' '1.5' \
  '1-2'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
