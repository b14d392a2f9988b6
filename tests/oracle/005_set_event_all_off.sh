# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The forms that name everything, negated.
for form in '!*:*' '!*:' '!raw_syscalls:*' '!raw_syscalls' '!:sys_exit' '!*:sys_exit'; do
  put set_event raw_syscalls:sys_exit
  put set_event sched_waking
  w set_event "$form\n"
  enabled
done
