# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Fields, offsets and print formats of all types.
f=kprobe_events
put $f 'p:t1 kfree a=%ax:u8 b=%ax:u16 c=%ax:u32 d=%ax:u64 e=%ax:s8 g=%ax:s16 h=%ax:s32 i=%ax:s64'
put $f 'p:t2 kfree a=%ax:x8 b=%ax:x16 c=%ax:x32 d=%ax:x64 e=%ax'
put $f 'p:t9 kfree e=%ax:char g=%ax:symbol h=%ax:symstr'
put $f 'p:t3 kfree a=+0(%ax):string b=+0(%ax):ustring c=$comm d=\"x" e=+0(%ax):string[2]'
put $f 'p:t4 kfree a=+0(%ax):u8[4] b=+0(%ax):s64[2] c=+0(%ax):char[3]'
put $f 'p:t10 kfree d=+0(%ax):symbol[1] e=+0(%ax):x32[64]'
put $f 'p:t5 kfree a=%ax:b4@0/8 b=%ax:b4@12/16 c=%ax:b5@3/32 d=%ax:b60@4/64 e=+0(%ax):b2@1/8[3]'
put $f 'p:t6 kfree'
put $f 'r4:t7 vfs_open a=$retval:s32 b=+0($retval):string c=$arg1:x64'
put $f 'r4:t8 kfree'
for n in 1 2 3 4 5 6 7 8 9 10; do
  r events/kprobes/t$n/format
done
