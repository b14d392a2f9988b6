# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A filter that no event can have.
put events/raw_syscalls/sys_enter/filter 'id == 1'
w events/raw_syscalls/filter 'nosuch == 0\n'
r events/raw_syscalls/filter
r events/raw_syscalls/sys_enter/filter
r events/raw_syscalls/sys_exit/filter
r error_log
