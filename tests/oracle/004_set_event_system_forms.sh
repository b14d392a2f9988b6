# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The forms that name a whole system, or an event in any system.
for form in 'raw_syscalls' 'raw_syscalls:' 'raw_syscalls:*' 'raw_syscalls:sys_enter' ':sys_enter' \
  '*:sys_enter'; do
  t set_event "$form\n"
  enabled
done
