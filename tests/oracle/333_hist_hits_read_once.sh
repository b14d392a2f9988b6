# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A variable is there until an expression takes it; without one it stays.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
w synthetic_events 'bb u64 k; u64 v\n'
w synthetic_events 'once u64 x\n'
w synthetic_events 'stay u64 x\n'
hist_fires aa a1 1 100
hist_fires aa a2 2 200
hist_fires bb b1 1 1
hist_fires bb b2 2 1
put events/synthetic/aa/trigger 'hist:keys=k:va=v,vb=v'
put events/synthetic/bb/trigger 'hist:keys=k:e=$va+v:onmatch(synthetic.aa).once($e)'
put events/synthetic/bb/trigger 'hist:keys=k:onmatch(synthetic.aa).stay($vb)'
hist_show events/synthetic/bb/trigger
put events/synthetic/once/trigger 'hist:keys=x:sort=x'
put events/synthetic/stay/trigger 'hist:keys=x:sort=x'
marks b1 a1 b1 b1 b2 a2 b2 b1 b2 a1 a1 b1
cat events/synthetic/once/hist events/synthetic/stay/hist
put events/synthetic/aa/trigger 'hist:keys=k:va=v,vb=v:clear'
marks b1 b2
cat events/synthetic/stay/hist
hist_clean events/synthetic/once/trigger events/synthetic/stay/trigger events/synthetic/bb/trigger
hist_clean events/synthetic/aa/trigger "$P"
for one in aa bb once stay; do w synthetic_events "!$one\n"; done
