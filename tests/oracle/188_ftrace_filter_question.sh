# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A question mark is one character.
for pattern in 'vfs_mk???' 'vfs_mk?ir' 'vfs_mk?' 'vfs_fs??c' '?fs_fsync' 'vfs_mk?????' \
  'vfs_fsync?*'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
