# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A class without end, a backslash.
for pattern in 'vfs_fsync[' 'vfs_fsyn[c' 'vfs_fsyn[c-' '[' '[]' 'vfs_fsyn[' '*[' 'vfs_fsyn\\\\c' \
  'vfs_\\*'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
