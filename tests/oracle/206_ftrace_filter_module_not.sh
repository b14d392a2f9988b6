# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# All but a module.
for text in 'vfs_mk*:mod:!nosuchmodule' 'vfs_fsync:mod:!x*' 'vfs_fsync:mod:!'; do
  t set_ftrace_filter "$text\n"
  r set_ftrace_filter
done
t set_ftrace_filter 'vfs_mk*\n'
w set_ftrace_filter '!vfs_mkd*:mod:!nosuchmodule\n'
r set_ftrace_filter
