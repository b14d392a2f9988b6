# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The shell writes the rest again.
echo vfs_fsync vfs_mkdir >set_ftrace_filter
r set_ftrace_filter
printf 'vfs_mknod\nvfs_fstat\n' >>set_ftrace_filter
r set_ftrace_filter
echo vfs_fsync nosuchfunction vfs_mkdir >set_ftrace_filter && echo done
r set_ftrace_filter
echo '   ' >>set_ftrace_filter && echo done
r set_ftrace_filter
