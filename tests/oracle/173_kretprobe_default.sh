# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Without a number, and with the suffix.
f=kprobe_events
w $f 'r vfs_read\n'
w $f 'r:two vfs_read a=$retval:s32\n'
w $f 'p:three vfs_read%return a=$retval:x64\n'
w $f 'p vfs_open+0%return\n'
r $f
r dynamic_events
