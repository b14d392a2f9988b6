# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The special forms and globs with stars inside.
for pattern in 'vfs_f*' 'vfs_mk*' '*vfs_fsync_ra*' '*vfs_mkdi*' 'vfs_*dir*vfs' 'v*_mk*r' \
  'vfs_fs*t*a*' 'vfs_mk**' '*fs_fsync_range'; do
  t set_ftrace_filter "$pattern\n"
  r set_ftrace_filter
done
