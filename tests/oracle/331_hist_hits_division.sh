# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Division: by nothing, by powers of two, by other constants, of constants.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
w synthetic_events 'out u64 a; u64 b; u64 c; u64 d\n'
hist_fires aa z 1 0
hist_fires aa s 2 7
hist_fires aa m 3 1000000
hist_fires aa l 4 18446744073709551615
put events/synthetic/aa/trigger 'hist:keys=k:zero=0,a=v/8,b=v/1,c=k/v,d=1000/v:onmatch(synthetic.aa).out($a,$b,$c,$d)'
put events/synthetic/aa/trigger 'hist:keys=v:e=v/$zero'
hist_show events/synthetic/aa/trigger
put events/synthetic/out/trigger 'hist:keys=b:vals=a,c:sort=b'
put events/synthetic/out/trigger 'hist:keys=d:sort=d'
marks z s m l s
cat events/synthetic/out/hist
hist_clean events/synthetic/out/trigger
hist_clean events/synthetic/aa/trigger
hist_try events/synthetic/aa/trigger 'keys=k:a=v/0'
hist_try events/synthetic/aa/trigger 'keys=k:a=8/2'
hist_try events/synthetic/aa/trigger 'keys=k:a=8/0'
hist_try events/synthetic/aa/trigger 'keys=k:a=64/4/2'
hist_try events/synthetic/aa/trigger 'keys=k:a=v*8/4'
hist_clean events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
w synthetic_events '!out\n'
