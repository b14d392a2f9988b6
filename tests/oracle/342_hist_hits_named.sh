# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Named histograms of two events with keys of other names; one of them goes.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
w synthetic_events 'bb u64 x; u64 y\n'
w synthetic_events 'cc u32 x; u64 y\n'
hist_fires aa a 1 10
hist_fires bb b 1 5
hist_fires bb c 2 5
put events/synthetic/aa/trigger 'hist:name=nn:keys=k:vals=v:sort=k'
hist_add events/synthetic/bb/trigger 'name=nn:keys=x:vals=y'
hist_add events/synthetic/cc/trigger 'name=nn:keys=x:vals=y'
hist_add events/synthetic/bb/trigger 'name=nn:keys=x'
hist_add events/synthetic/bb/trigger 'name=nn:keys=x,y:vals=y'
hist_add events/synthetic/bb/trigger 'name=nn'
hist_add events/synthetic/bb/trigger 'name=nn:keys=x:vals=y if x == 1'
marks a b c c
cat events/synthetic/aa/hist events/synthetic/bb/hist
hist_clean events/synthetic/aa/trigger
marks a b
cat events/synthetic/aa/hist events/synthetic/bb/hist
hist_clean events/synthetic/bb/trigger events/synthetic/cc/trigger "$P"
for one in aa bb cc; do w synthetic_events "!$one\n"; done
