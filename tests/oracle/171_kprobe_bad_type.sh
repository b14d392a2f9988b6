# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Types that are none, or do not fit what is fetched, and names of arguments.
f=kprobe_events
for argument in '+0(%ax):foo' '%ax:string' '%ax:ustring' '$stack0:string' '%ax:' '%ax::u8' \
  '$comm:u8' '$comm:string[2]' '$comm:ustring' '\\"x":u8' '\\"x":string[2]' '\\5:symstr' \
  '+u0(%ax):symstr' '$stack:symstr' '%ax:symstr[2]' '+0(%ax):symstr[2]' '%ax:u8[' '%ax:u8[4' \
  '%ax:u8[4]x' '%ax:u8[]' '%ax:u8[0]' '%ax:u8[65]' '%ax:u8[x]' '%ax:u8[4294967296]' '%ax:u8[4]' \
  '+u0(%ax):u8[4]' '%ax:b4' '%ax:b4@' '%ax:b4@1' '%ax:b4@64/32' '%ax:b0@0/8' '%ax:b9@0/8' \
  '%ax:b4@5/8' '%ax:b4@0/12' '%ax:b@0/8' '%ax:b10@a/16' '%ax:bool' '%ax:U8' '%ax:u128' \
  '+0(%ax):u8:u8' a= =%ax 1a=%ax var.1=%ax a-b=%ax arg123456789012345678901234567890=%ax \
  common_pid=%ax common_type=%ax __probe_ip=%ax __probe_func=%ax __probe_ret_ip=%ax \
  common_tgid=%ax; do
  w $f "p:x vfs_read $argument\n"
  last 3 error_log
done
w $f 'p vfs_read a=%ax a=%bx\n'
last 3 error_log
w $f 'p vfs_read arg2=%ax %bx\n'
last 3 error_log
many=
for name in a b c d e g; do
  many="$many $name=+0(@0):u64[64]"
done
w $f "p vfs_read $many h=+0(@0):u64[1]\n"
last 3 error_log
w $f '  p   vfs_read\t a=%ax   %foo  \n'
last 3 error_log
r $f
