# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A unary minus, and precedence with it.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
w synthetic_events 'out u64 a; u64 b; u64 c\n'
hist_fires aa s 2 7
hist_fires aa o 1 1
put events/synthetic/aa/trigger 'hist:keys=k:a=-(v),b=v+2*3,c=v*2+3:onmatch(synthetic.aa).out($a,$b,$c)'
hist_show events/synthetic/aa/trigger
put events/synthetic/out/trigger 'hist:keys=b:vals=a,c:sort=b'
marks s o s
cat events/synthetic/out/hist
hist_clean events/synthetic/out/trigger events/synthetic/aa/trigger
for x in '-(v)' '-(v)+1' '1+-(v)' '-(v)*2' '-v' '-(v+1)' '-(-(v))' '(v)' 'v-1-2' 'v-2*3' 'v/2*3' '2-v-1' 'v+' '+v' 'v++1'; do
  hist_try events/synthetic/aa/trigger "keys=k:x=$x"
done
hist_clean events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
w synthetic_events '!out\n'
