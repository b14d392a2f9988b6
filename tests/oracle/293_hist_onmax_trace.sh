# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmax and onchange fire synthetic events.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
w synthetic_events 'sy u64 a\n'
w synthetic_events 'two u64 a; s32 b\n'
hist_add "$S" 'keys=func:f=func'
for command in 'keys=func:x=ret:onmax($x).two($f,ret)' 'keys=func:x=func:onmax($x).sy($x)' \
  'keys=func:x=func:onchange($x).trace(sy,$x)' 'keys=func:x=func:onchange($x).trace(two,$x,ret)' \
  \
  'keys=func:x=ret:onmax($x).sy(initcall.initcall_start.$f)' 'keys=func:x=ret:onmax($x).sy(initcall.initcall_start.func)' 'keys=func:x=ret:onmax($x).sy(nosuch)' 'keys=func:x=ret:onmax($x).sy($x)' \
  'keys=func:x=ret:onmax($x).sy(initcall.initcall_start.nosuch)' 'keys=func:x=ret:onmax($x).sy(initcall.nosuch.func)' 'keys=func:x=ret:onmax($x).sy(initcall.initcall_level.common_pid)' 'keys=func:x=func:onmax($x).sy($x):onchange($x).sy($f)'; do
  hist_try "$E" "$command"
  hist_show "$S"
done
hist_clean "$E" "$S"
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
