# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Probes of files.
f=uprobe_events
w $f 'p /bin/sh:0x1000\n'
w $f 'p:one /bin/sh:0x1001 a=%ax b=%di:u8 c=$stack d=$stack2:s16 e=$comm g=\\5 h=\\"x"\n'
w $f 'p:texts /bin/sh:0x1005 +0(%sp):string +0(%sp):ustring[3]\n'
w $f 'p:g/two /bin/sh:0x1002(0x20) a=@+16:u8 b=@0x10 c=+8(@+16):u16[2]\n'
w $f 'r:three /bin/sh:0x1003 a=$retval:s32\n'
w $f 'p:four /bin/sh:4100%return\n'
w $f 'r5:five /bin/sh:010004\n'
w $f 'p:six /bin/sh:0x1006(0x0) +u0(%di):ustring[2]\n'
w $f 'p:seven //bin/../bin/sh:0x1007\n'
r $f
r dynamic_events
r kprobe_events
for e in p_sh_0x1000 one three six; do
  r events/uprobes/$e/format
done
r events/g/two/format
w $f '-:one\n'
w $f '-:uprobes/three /bin/sh:0x1003\n'
w $f '-:uprobes/three /bin/sh:0x0000000000001003 a=$retval:s32\n'
w $f '-:g/two /bin/sh:0x0000000000001002\n'
w $f '-:g/two /bin/sh:0x0000000000001002(0x20)\n'
r $f
