# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What cannot be fetched.
f=kprobe_events
for argument in 5 a=5 a=%foo %rax %axx '$nosuch' '$retval' '$stackx' '$stack10000' '$stack1x' \
  '$stack' 'a=$arg0' 'a=$arg10000' 'a=$argx' 'a=$arg*' '$argx' '$arg' '@nosuch' '@' '@+10' \
  '@12345678abcde' '@99999999999999999999' '+0' '+x(%ax)' '+0(%ax' '-(%ax)' '+0()' '+0(%foo)' \
  '+8(-8(%foo))' '+u8(%foo)' '+0($comm)' '+8(+0($comm))' '+0(\\"x")' '\\"abc' '\\"' '\\x' '\\' \
  '\\99999999999999999999' '\\-99999999999999999999' '+99999999999999999999(%ax)' '&1' '+0@0)' \
  '+0ab1(@0)' '+0(+0(@0' '()' '%' '=' ; do
  w $f "p:x vfs_read $argument\n"
  last 3 error_log
done
w $f 'p vfs_read +0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(@0))))))))))))))\n'
last 3 error_log
w $f 'p vfs_read +1234567(+1234567(+1234567(+1234567(+1234567(+1234567(@1234))))))\n'
last 3 error_log
r $f
