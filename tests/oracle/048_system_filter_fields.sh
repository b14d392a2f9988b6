# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Each event takes what it has.
w events/raw_syscalls/filter 'ret == 0\n'
r events/raw_syscalls/sys_exit/filter
w events/raw_syscalls/filter 'id == 39\n'
r events/raw_syscalls/sys_exit/filter
r events/raw_syscalls/sys_enter/filter
r events/raw_syscalls/filter
