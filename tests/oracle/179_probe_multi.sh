# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Several places of one event, and those that do not fit.
f=kprobe_events
w $f 'p:m vfs_read a=%ax:x64\n'
w $f 'p:m vfs_open a=%ax:x64\n'
for line in 'p:m vfs_open a=%ax:x64' 'p:m kfree b=%ax:x64' 'p:m kfree a=%ax:x32' \
  'p:m kfree a=%ax:x64 b=%bx' 'p:m kfree' 'p:m kfree a=%ax:u64' 'p:m kfree a=+0(%ax):x64[2]' \
  'r2:m kfree' 'r2:m vfs_open a=$retval:x64' ; do
  w $f "$line\n"
  last 3 error_log
done
w $f 'p:m vfs_open a=%bx:x64\n'
w $f 'p:kmem/kfree kfree\n'
last 3 error_log
w dynamic_events 'f:kprobes/m vfs_read a=$arg1:x64\n'
last 3 error_log
w dynamic_events 'e:kprobes/m kmem.kfree\n'
last 3 error_log
w uprobe_events 'p:kprobes/m /bin/sh:0x10\n'
last 3 error_log
w uprobe_events 'p:u /bin/sh:0x10\n'
w uprobe_events 'p:u /bin/sh:0x11\n'
for line in 'p:u /bin/sh:0x10' 'r:u /bin/sh:0x12' 'p:u /bin/sh:0x12 %ax' \
  'p:v /bin/sh:0x10(0x20)' ; do
  w uprobe_events "$line\n"
  last 3 error_log
done
w dynamic_events 't:n kfree a=$arg1:x64\n'
for line in 't:n kfree a=$arg1:x64' 'f:tracepoints/n kfree a=$arg1:x64' \
  't:n kmem_cache_free b=$arg1:x64' 't:n kmem_cache_free a=$arg1:x32' ; do
  w dynamic_events "$line\n"
  last 3 error_log
done
w dynamic_events 't:n kmem_cache_free a=$arg1:x64\n'
r dynamic_events
w $f '-:m vfs_read\n'
r $f
w $f '-:m\n'
r $f
