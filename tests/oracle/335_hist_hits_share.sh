# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Shares and bars of hitcounts, without hitcount, with no hit at all.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
hist_fires aa a 1 0
hist_fires aa b 2 0
hist_fires aa c 3 1
put events/synthetic/aa/trigger 'hist:keys=k:vals=hitcount.percent:nohitcount:sort=k'
put events/synthetic/aa/trigger 'hist:keys=k:vals=hitcount.graph:NOHC:sort=k'
put events/synthetic/aa/trigger 'hist:keys=k:vals=v.graph,v.percent:sort=k'
hist_show events/synthetic/aa/trigger
cat events/synthetic/aa/hist
marks a b
cat events/synthetic/aa/hist
marks c a a a a a a
cat events/synthetic/aa/hist
hist_clean events/synthetic/aa/trigger
for part in nohitcount NOHC 'vals=hitcount:nohitcount' 'vals=hitcount:NOHC' 'vals=k:nohitcount' \
  'vals=hitcount.hex:nohitcount' 'vals=hitcount.percent:nohitcount:nohitcount' 'nohitcounts' 'sort=hitcount:vals=k:NOHC'; do
  hist_try events/synthetic/aa/trigger "keys=k:$part"
done
hist_clean events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
