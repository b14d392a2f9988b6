# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Return probes of kprobe_events.
f=kprobe_events
w $f 'r5 vfs_read\n'
w $f 'r5:two vfs_read a=$retval:s32\n'
w $f 'r3:three vfs_read+0 a=$retval:x64 b=+0($retval):string c=$arg2:x64 d=$comm\n'
w $f 'r4096:four vfs_open $stack %ax\n'
w $f 'r2:g/five vfs_open%return a=$arg1:u8\n'
w $f 'r 0xffffffff81000000 $retval\n'
last 3 error_log
r $f
r events/kprobes/two/format
r events/kprobes/three/format
r events/g/five/format
w $f '-:two\n'
w $f '-:kprobes/\n'
r $f
