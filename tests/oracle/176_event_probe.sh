# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Event probes.
f=dynamic_events
w $f 'e syscalls.sys_enter_openat\n'
w $f 'e:one syscalls/sys_enter_openat a=$dfd:s32 b=+0($filename):ustring $flags c=$mode:x16\n'
w $f 'e:g/two kmem.kfree p=$ptr c=$call_site:symbol d=$comm:string e=+0($ptr):u8[4]\n'
w $f 'e:three sched.sched_switch $prev_comm:string $prev_pid:b4@0/32 if prev_pid > 0\n'
w $f 'e:four kmem.kfree \\5 \\"text":string s=$call_site:symstr @0x10:x8\n'
w $f 'e:g/ kmem.kfree\n'
r $f
for e in eprobes/sys_enter_openat eprobes/one g/two eprobes/three eprobes/four g/kfree; do
  r events/$e/format
done
for line in 'e a.' 'e .b' 'e a.b' 'e nosuch' 'e a.1b' 'e 1a.b' 'e kmem.nosuch' 'e nosuch.kfree' \
  'e kprobes.nosuch' 'e:/bar kmem/kfree' 'e:foo.1/bar kmem/kfree' 'e: kmem/kfree' \
  'e:foo/bar.1 kmem/kfree' 'e kmem.kfree $foo' 'e kmem.kfree x=$common_pid' \
  'e kmem.kfree +0(%di)' 'e kmem.kfree %ax' 'e kmem.kfree $stack' 'e kmem.kfree $retval' \
  'e kmem.kfree $arg1' 'e kmem.kfree foo' 'e kmem.kfree a=ptr' 'e kmem.kfree if' \
  'e kmem.kfree $ptr if' 'e kmem.kfree if nosuch > 1' 'e kmem.kfree if ptr >' \
  'e kmem.kfree a=$ptr a=$ptr' 'e kmem.kfree $comm:symstr' 'e kmem.kfree $ptr:u8[2]' \
  'e kmem.kfree @nosuch' 'e' 'e:' 'e:x' 'e:one kmem.kfree' 'e:kmem/kfree kmem.kfree' ; do
  w $f "$line\n"
  last 6 error_log
done
r $f
