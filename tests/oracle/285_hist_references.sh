# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Variables of other events.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$S" 'keys=func:ts=common_timestamp.usecs,t2=common_timestamp,five=5,f=func'
for command in 'keys=func:x=$f' 'keys=func:lat=common_timestamp.usecs-$ts' \
  'keys=func:lat2=common_timestamp-$t2' 'keys=func:y=$five*2' \
  'keys=func:z=$five+$f' 'keys=func:vals=$f,$five' 'keys=func:vals=$f:sort=f' 'keys=func:a=$f,b=$f:c=$a' 'keys=func:q=initcall.initcall_start.$f' \
  'keys=func:q=initcall.initcall_start.$f+1' 'keys=func:vals=initcall.initcall_start.$f' 'keys=ret:x=$f' 'keys=func:x=ret/$five' 'keys=func:d=$ts' 'keys=func:d=$ts+$ts'; do
  hist_try "$E" "$command"
done
hist_clean "$E" "$S"
