# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A variable named in full, of the same and of another event, and one that two events have.
P=events/ftrace/print/trigger
for one in aa bb cc out; do w synthetic_events "$one u64 kk; u64 vv\n"; done
hist_fires aa a 1 10
hist_fires bb b 1 20
hist_fires cc c 1 3
put events/synthetic/aa/trigger 'hist:keys=kk:x=vv'
put events/synthetic/bb/trigger 'hist:keys=kk:x=vv'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=$x'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=synthetic.aa.$x+1'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=synthetic.nosuch.$x'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=synthetic.aa.$nosuch'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=aa.$x'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=synthetic.bb.$x-synthetic.aa.$x:onmatch(synthetic.aa).out(kk,$yy)'
hist_try events/synthetic/cc/trigger 'keys=kk:yy=synthetic.bb.$x-synthetic.aa.$x:onchange($yy).out(kk,$yy)'
put events/synthetic/out/trigger 'hist:keys=vv:sort=vv'
marks c a c b c a b c c
cat events/synthetic/out/hist
t events/synthetic/aa/trigger ''
hist_show events/synthetic/aa/trigger
hist_clean events/synthetic/out/trigger events/synthetic/cc/trigger
hist_clean events/synthetic/aa/trigger events/synthetic/bb/trigger "$P"
for one in aa bb cc out; do w synthetic_events "!$one\n"; done
