# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Groups and names, given and made up.
f=kprobe_events
long=123456789012345678901234567890123456789012345678901234567890123
for name in :/bar :$long/bar :a$long/bar :a.b/bar :a+b/c :1a/b : :foo/a$long :foo/bar.1 :a/b/c \
  :1a :a-b :a.1b :/ :./ :. ; do
  w $f "p$name kfree\n"
  last 3 error_log
done
w $f "p:g_$long kfree\n"
last 3 error_log
w $f 'p:a-b/c kfree\n'
w $f 'p:_/_ kfree\n'
w $f 'p:group/ vfs_read\n'
w $f 'p vfs_open\n'
w $f 'p:x.y vfs_open\n'
w $f 'r1 vfs_open\n'
w $f 'p vfs_symlink+0\n'
r $f
