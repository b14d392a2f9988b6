# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A system: 0, X, 1.
r events/raw_syscalls/enable
w events/raw_syscalls/sys_enter/enable 1
r events/raw_syscalls/enable
w events/raw_syscalls/sys_exit/enable 1
r events/raw_syscalls/enable
w events/raw_syscalls/enable 0
r events/raw_syscalls/sys_enter/enable
w events/raw_syscalls/enable 1
enabled
w events/raw_syscalls/enable 2
w events/raw_syscalls/enable x
