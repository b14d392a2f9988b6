# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Character classes.
for pattern in 'vfs_mk[do]*' 'vfs_mk[!do]*' 'vfs_fs[a-z]*' 'vfs_fs[z-a]*' 'vfs_[f]syn[c]' \
  'vfs_mk[!a-z]*' 'vfs_fs[xy-z]nc' 'vfs_fs[]y]nc' 'vfs_f[!]s]*'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
