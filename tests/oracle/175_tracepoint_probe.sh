# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Probes on static events.
f=dynamic_events
w $f 't kfree\n'
w $f 't:one kmem_cache_free a=$arg1:x64 b=$arg2:x64 c=$comm\n'
w $f 't:g/two sched_switch a=\\1:u8\n'
w $f 't nosuch_event\n'
w $f 't 9nosuch\n'
r $f
r events/tracepoints/kfree/format
r events/tracepoints/one/format
r events/g/two/format
for line in 't100 kfree' 't:/bar kfree' 't:foo.1/bar kfree' 't: kfree' 't:foo/bar.1 kfree' \
  't kfree $retval' 't kfree a=+0($retval)' 't kfree $stack10000' 't kfree a=$arg10000' \
  't kfree $none_var' 't kfree %rax' 't kfree%return' 't kfree @12345678abcde' 't kfree @+10' \
  't kfree a=\\x' 't kfree +0@0)' 't kfree +0(+0(@0' 't kfree +0($comm)' 't kfree &1' \
  't kfree @11:unknown' 't kfree $stack0:string' 't kfree @11:b10@a/16' 't kfree =@11' \
  't kfree a=' 't k*ee' 't kfree-' 't' 't:x' ; do
  w $f "$line\n"
  last 6 error_log
done
r $f
