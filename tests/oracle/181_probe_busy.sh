# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What is in use stays.
f=kprobe_events
put $f 'p:one vfs_symlink'
put $f 'p:two vfs_symlink'
put dynamic_events 'f:three vfs_symlink'
put uprobe_events 'p:four /bin/sh:0x10'
w events/kprobes/one/enable 1
w $f '-:one\n'
w $f '-:kprobes/\n'
r $f
t $f '\n'
call o $f t
t dynamic_events '\n'
t uprobe_events '\n'
r dynamic_events
mkdir instances/x
w instances/x/events/kprobes/one/enable 1
w events/kprobes/one/enable 0
w $f '-:one\n'
w instances/x/events/kprobes/one/enable 0
w $f '-:one\n'
r $f
put $f 'p:one vfs_symlink'
w events/kprobes/one/filter 'common_pid == 1'
w $f '-:one\n'
put $f 'p:m vfs_symlink'
put $f 'p:m vfs_open'
w events/kprobes/m/enable 1
w $f '-:m vfs_open\n'
w $f '-:m\n'
w events/kprobes/m/enable 0
t $f 'p:new vfs_symlink\n'
r dynamic_events
t dynamic_events 'p:newer vfs_symlink\n'
r dynamic_events
