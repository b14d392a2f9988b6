# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmatch: with a variable, a field, by name and by trace().
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
w synthetic_events 'sy u64 a\n'
w synthetic_events 'two u64 a; s32 b\n'
hist_add "$S" 'keys=func:f=func,v=5'
for command in 'keys=func:onmatch(initcall.initcall_start).sy($f)' \
  'keys=func:onmatch(initcall.initcall_start).trace(sy,$f)' \
  'keys=func:onmatch(initcall.initcall_start).two($v,ret)' 'keys=func:onmatch(initcall.initcall_start).two(initcall.initcall_start.$v,initcall.initcall_finish.ret)' \
  'keys=func:x=ret:onmatch(initcall.initcall_start).two($v,$x)' 'keys=func:onmatch(initcall.initcall_start).trace( sy , $f )' 'keys=func:onmatch(initcall.initcall_start).trace(sy,$f' \
  'keys=func:onmatch(initcall.initcall_start).sy($f)junk' 'keys=func:onmatch(initcall.initcall_start)  .sy($f)' 'keys=func:onmatch(initcall.initcall_start).sy($f):onmatch(initcall.initcall_start).sy($v)' \
  'keys=func:onmatch(initcall.initcall_start).tracefoo(sy,$f)' 'keys=func:y=$f:onmatch(initcall.initcall_start).sy($y)' 'keys=func:onmatch(initcall.initcall_start).sy($f) if ret == 1'; do
  hist_try "$E" "$command"
done
hist_clean "$E" "$S"
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
