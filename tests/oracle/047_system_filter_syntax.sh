# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Errors of structure in a system's filter.
for text in '(common_pid == 0' 'common_pid == 0 &&' '()' 'common_pid == 1x'; do
  w events/raw_syscalls/filter "$text\n"
  r events/raw_syscalls/filter
  r events/raw_syscalls/sys_enter/filter
  last 3 error_log
done
