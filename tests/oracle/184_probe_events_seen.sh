# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Where a new event shows.
put kprobe_events 'p:mine/one vfs_symlink a=%ax:u8'
put kprobe_events 'p:mine/two vfs_symlink'
put dynamic_events 'e:mine/three kmem.kfree'
ours '^mine:' available_events
r events/mine/enable
find events/mine -name format | sort
w set_event 'mine:one\n'
r set_event
r events/mine/enable
r events/mine/one/enable
w events/mine/enable 1
r events/mine/enable
w set_event '!mine:\n'
r events/mine/enable
w events/mine/one/filter 'a == 5'
r events/mine/one/filter
w events/mine/one/filter 'b == 5'
last 3 error_log
w events/mine/one/filter 'common_pid > 0'
mkdir instances/x
call mode instances/x/events/mine/one/enable
w kprobe_events '-:mine/two\n'
call mode events/mine/two
call mode instances/x/events/mine/two
w dynamic_events '-:mine/\n'
call mode events/mine
ours '^mine:' available_events
