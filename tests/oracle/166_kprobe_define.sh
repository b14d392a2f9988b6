# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Definitions that are accepted, and how they are listed.
f=kprobe_events
w $f 'p vfs_read\n'
w $f 'p:first vfs_read a=%di b=%si:u32 c=%ax:s8 %r15:x16 %flags %cs %ss %ip\n'
w $f 'p:mygroup/second vfs_open $stack $stack0 $stack3:u8 s=$stack1:symbol\n'
w $f 'p:mygroup/ kernel_clone c=$comm d=$COMM e=\\1234 f=\\-5:s16 g=\\0x10:x8 h=\\"text"\n'
w $f 'p:dots.third do_exit a=+0(%sp) b=-8(%sp):x32 c=+0x10(+8(-u16(%sp))):u8\n'
w $f 'p:mem kfree a=@0x1234 b=+0(@0):u16[4] c=+u0(%di):ustring d=+0(%di):string[3]\n'
w $f 'p:bits kfree a=%ax:b4@2/8 b=+0(%ax):b31@1/32 c=+8(%ax):b64@0/64 d=+0(%ax):b1@15/16[2]\n'
w $f 'p:names kfree a=$arg1:x64 b=+0($arg1):char c=+0($arg2):char[8]\n'
w $f 'p:symbols kfree d=%ip:symstr e=+0(%sp):symstr\n'
w $f 'p:tail kfree a=+0(%ax)foo b=+0x0(%ax)\n'
w $f 'pjunk:odd kfree\n'
w $f 'p:\n'
w $f 'p\n'
w $f 'p: kfree\n'
r $f
r dynamic_events
r uprobe_events
