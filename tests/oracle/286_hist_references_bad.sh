# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# References that find nothing, several things, or what does not fit.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
L=events/initcall/initcall_level/trigger
hist_add "$S" 'keys=func:ts=common_timestamp.usecs,f=func,zero=0'
hist_add "$L" 'keys=common_pid:f=common_pid,s=level'
for command in 'keys=func:x=$nosuch' 'keys=func:x=$f' 'keys=$f' 'keys=func:vals=$f' 'keys=$zero' \
  'keys=func,$zero' 'keys=$zero+1' 'keys=func:x=initcall.initcall_start.$q' \
  'keys=func:x=initcall.nosuch.$f' 'keys=func:x=foo.initcall_start.$f' 'keys=initcall.initcall_start.$f' 'keys=func:x=$ts-common_timestamp' 'keys=func:x=$ts-ret' \
  'keys=func:x=ret/$zero' 'keys=func:sort=$f' 'keys=func:x=initcall.initcall_level.$f' 'keys=func:f=ret' 'keys=func:x=$f:onmatch(initcall.initcall_start).foo($x)'; do
  hist_try "$E" "$command"
done
hist_clean "$E" "$S" "$L"
