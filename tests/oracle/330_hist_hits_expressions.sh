# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Sums, differences and products of variables of two events, wrapping around.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
w synthetic_events 'bb u64 k; u64 v\n'
w synthetic_events 'out u64 p; u64 m; u64 t; u64 q\n'
hist_fires aa a1 1 100
hist_fires aa a2 2 7
hist_fires aa a3 3 18446744073709551615
hist_fires bb b1 1 3
hist_fires bb b2 2 9
hist_fires bb b3 3 2
put events/synthetic/aa/trigger 'hist:keys=k:w=v,x=v,y=v,z=v'
put events/synthetic/bb/trigger 'hist:keys=k:p=$w+v,m=$x-v,t=$y*v,q=$z/v:onmatch(synthetic.aa).out($p,$m,$t,$q)'
hist_show events/synthetic/bb/trigger
put events/synthetic/out/trigger 'hist:keys=p:vals=m,t:sort=p'
put events/synthetic/out/trigger 'hist:keys=q:sort=q'
marks a1 b1 b1 a2 b2 a3 b3 b2 a1 b1
cat events/synthetic/out/hist
hist_clean events/synthetic/out/trigger events/synthetic/bb/trigger events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
w synthetic_events '!bb\n'
w synthetic_events '!out\n'
