# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A backslash takes the meaning away from what follows.
for pattern in 'vfs_fsyn\\c' 'vfs_\\fsync' 'vfs_mk\\*' '\\vfs_fsync'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
