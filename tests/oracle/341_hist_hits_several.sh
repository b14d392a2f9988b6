# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Several histograms of one event, each with its own hits; removing one leaves the others.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
T=events/synthetic/aa/trigger
hist_fires aa a 1 10
hist_fires aa b 2 20
hist_fires aa c 3 30
put $T 'hist:keys=k:sort=k'
put $T 'hist:keys=k:vals=v:sort=k'
put $T 'hist:keys=k:sort=k if v > 10'
put $T 'hist:keys=k:sort=k if v > 20'
put $T 'hist:keys=v,k:sort=k:size=256'
marks a b c a
cat events/synthetic/aa/hist
w $T '!hist:keys=k:sort=k if v > 10\n'
w $T '!hist:keys=k:sort=k if v > 15\n'
w $T '!hist:keys=k:vals=v:sort=k\n'
w $T '!hist:keys=k:vals=nosuch\n'
hist_show $T
marks c
cat events/synthetic/aa/hist
t $T 'hist:keys=v:sort=v\n'
hist_show $T
marks b
cat events/synthetic/aa/hist
hist_clean $T "$P"
w synthetic_events '!aa\n'
