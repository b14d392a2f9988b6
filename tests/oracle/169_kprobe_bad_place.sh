# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Places that are none.
f=kprobe_events
for place in nosuch vfs_read+ vfs_read+x vfs_read-1 vfs_read%foo vfs_read%retur vfs_read%returns \
  0 0xzz hoge-fuga hoge+1000-1000 vfs_read+4294967296 -5 name_show % vfs_read+0x; do
  w $f "p $place\n"
  last 3 error_log
done
for line in 'r vfs_read+1' 'p vfs_read+10%return' 'r0 vfs_read' 'r4097 vfs_read' \
  'r1a111 vfs_read' 'p100 vfs_read' 'r99999999999 vfs_read' 'p1:x vfs_read' 'r:x nosuch' \
  'p 0xffffffff81000000z' 'p /bin/sh' 'p /bin/sh:x' 'p /bin/sh:0x10' 'x vfs_read' 'f vfs_read' \
  'e kmem.kfree' ; do
  w $f "$line\n"
done
r error_log
r $f
