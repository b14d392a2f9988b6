# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Probes of functions in dynamic_events.
f=dynamic_events
w $f 'f vfs_read\n'
w $f 'f:one vfs_read a=$arg1:x64 b=+0($arg2):u8 c=$comm d=\\5\n'
w $f 'f vfs_read%return\n'
w $f 'f7:two vfs_read%return a=$retval:s32\n'
w $f 'f:three vfs_open a=$retval:x8\n'
w $f 'f:g/four kfree a=$stack b=$stack1:x32 c=+0($arg1):string[2]\n'
w $f 'f:five kfree%return a=$arg1:x64 b=@0x10:u8\n'
r $f
for e in fprobes/vfs_read__entry fprobes/one fprobes/two fprobes/three g/four fprobes/five; do
  r events/$e/format
done
for line in 'f5 vfs_read' 'f1a111 vfs_read' 'f100000 vfs_read' 'f0 vfs_read%return' \
  'f5000 vfs_read%return' 'f nosuch' 'f vfs_read+5' 'f vfs_read+0' 'f vfs_read%foo' \
  'f:1a vfs_read' 'f:/bar vfs_read' 'f: vfs_read' 'f:foo/bar.1 vfs_read' \
  'f vfs_read $stack10000' 'f vfs_read a=$arg10000' 'f vfs_read $nosuch' 'f vfs_read %ax' \
  'f vfs_read +0(%ax)' 'f vfs_read %return' 'f vfs_read @12345678abcde' 'f vfs_read @+10' \
  'f vfs_read a=\\x' 'f vfs_read +0(+0(@0' 'f vfs_read &1' 'f vfs_read a=$arg1:string' \
  'f vfs_read s=+0(@8):symstr[2]' 'f vfs_read%return a=$arg1:symstr' 'f vfs_read a= ' \
  'f vfs_read a=@11 a=@12' 'f vfs_read @11:b10@a/16' 'f' 'f:' 'f:x' ; do
  w $f "$line\n"
  last 6 error_log
done
r $f
