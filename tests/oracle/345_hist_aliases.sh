# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Keys and values by the names of variables, their listings and their hits.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
T=events/synthetic/aa/trigger
hist_fires aa a 1 10
hist_fires aa b 2 20
for command in 'keys=$x:x=k' 'keys=$x:x=k:vals=$y:y=v' 'keys=k:vals=$y:y=v.hex' 'keys=$x,$y:x=k,y=v:sort=k' \
  'keys=$x:x=k+1' 'keys=$x.hex:x=k' 'keys=$x:x=5' 'keys=k:y=v:z=$y:vals=$z' 'keys=k:vals=$nosuch' 'keys=x:x=k' \
  'keys=$x:x=k:sort=$x' 'keys=$x:x=k:sort=x' 'keys=$x:x=common_timestamp'; do
  hist_add $T "$command"
done
marks a b b
hist_clean $T
put $T 'hist:keys=$x:x=k:vals=$y:y=v:sort=k'
marks a b b
cat events/synthetic/aa/hist
hist_clean $T "$P"
w synthetic_events '!aa\n'
