# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Places in files that are none, and arguments that such probes do not have.
f=uprobe_events
for place in /nosuch:1 /sys:1 /bin/sh:10a '/bin/sh:10(1a)' '/bin/sh:10(10' '/bin/sh:10(' \
  '/bin/sh:10(10)a' '/bin/sh:10(10)%return' /bin/sh:10%hoge '/bin/sh:10%return(x)' \
  /bin/sh:99999999999999999999 /bin/sh /bin/sh: /bin/sh:x sh:10 vfs_read nosuch/file:1; do
  w $f "p $place\n"
  last 3 error_log
done
for argument in '@symbol' '@+ab' '@+' '$arg1' '$arg*' '$retval' '%ip:symbol' '+0(%di):symstr' \
  foo '%foo' '$stackx' '@99999999999999999999' 'a=%ax:string' 'a=' '1a=%ax' '$comm:u8' \
  '%ax:b9@0/8' ; do
  w $f "p /bin/sh:0x10 $argument\n"
  last 3 error_log
done
for name in :/x : :a-b :g/a.b; do
  w $f "p$name /bin/sh:0x10\n"
  last 3 error_log
done
r $f
