# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmatch: what is refused.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
w synthetic_events 'sy u64 a\n'
w synthetic_events 'two u64 a; s32 b\n'
hist_add "$S" 'keys=func:f=func'
for command in 'keys=func:onmatch(nosuch).sy($f)' 'keys=func:onmatch().sy($f)' \
  'keys=func:onmatch(a.b' 'keys=func:onmatch(initcall.nosuch).sy($f)' \
  'keys=func:onmatch(nosuch.initcall_start).sy($f)' \
  'keys=func:onmatch(initcall.initcall_start)' 'keys=func:onmatch(initcall.initcall_start).' 'keys=func:onmatch(initcall.initcall_start).sy' 'keys=func:onmatch(initcall.initcall_start).sy()' \
  'keys=func:onmatch(initcall.initcall_start).trace()' 'keys=func:onmatch(initcall.initcall_start).trace(foo)' 'keys=func:onmatch(initcall.initcall_start).foo($f)' 'keys=func:onmatch(initcall.initcall_start).save(ret)' \
  'keys=func:onmatch(initcall.initcall_start).snapshot()' 'keys=func:onmatch(initcall.initcall_start).sy($nosuch)' 'keys=func:onmatch(initcall.initcall_start).sy($f,$f)' 'keys=func:onmatch(initcall.initcall_start).two($f)' \
  'keys=func:onmatch(initcall.initcall_start).sy(ret)' 'keys=func:onmatch(initcall.initcall_start).sy(x)' 'keys=func:onmatch(initcall.initcall_start).sy(a.b)' 'keys=func:onmatch(initcall.initcall_start).sy($f,)' \
  'keys=func:onmatch(initcall.initcall_start).two(ret,$f)' 'keys=func:onmatch(initcall.initcall_level).sy($f)' 'keys=func:y=$f:onmatch(initcall.initcall_start).sy($y):onmatch(initcall.initcall_start).sy($y)' \
  'keys=func:onmatch(a.b.c).sy($f)' 'keys=func:onmatch( initcall.initcall_start).sy($f)'; do
  hist_try "$E" "$command"
done
hist_clean "$E" "$S"
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
