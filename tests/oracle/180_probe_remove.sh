# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# How definitions are removed.
f=kprobe_events
put $f 'p:one vfs_read a=%ax b=%bx'
put $f 'p:two vfs_open'
put $f 'p:g/one kfree'
put $f 'p:g/two kfree %ax'
put $f 'p:h/x kfree'
for line in - -: -one -:nosuch -:nosuch/ -:g/nosuch -:/one -:g.one '-:one vfs_open' \
  '-:one vfs_read b=%bx' '-:one vfs_read a=%ax b=%bx c=%cx' '-:one vfs_read %ax' '!p:one' \
  '-p:one' ; do
  w $f "$line\n"
done
r $f
w $f '-:g/two kfree arg1=%ax\n'
r $f
w $f '-:one vfs_read a=%ax\n'
r $f
w $f '-:one\n'
w $f '-:one\n'
r $f
d=dynamic_events
put $d 'f:one vfs_read'
put $d 'f:g/ret vfs_read%return'
put $d 't:one kfree'
put $d 'e:one kmem.kfree'
put uprobe_events 'p:one /bin/sh:0x10'
for line in '!' '!p' '!p vfs_open' '!p:' '!p:nosuch' '-:g/ret vfs_read%return' \
  '-:eprobes/one kmem.kmalloc' '-:eprobes/one kmem' '-:uprobes/one vfs_read' ; do
  w $d "$line\n"
done
r $d
w $d '!p:two vfs_open\n'
w $d '!r:h/x\n'
w $d '-:g/ret vfs_read\n'
w $d '-:eprobes/one kmem/kfree\n'
r $d
w $d '-:one\n'
r $d
