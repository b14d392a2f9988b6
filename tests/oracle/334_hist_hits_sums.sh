# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Sums of several values, wrapping, with each way to show them.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 v\n'
hist_fires aa a 1 10
hist_fires aa b 2 30
hist_fires aa c 3 60
hist_fires aa l 4 18446744073709551615
for vals in v v,k v.hex,k.hex v.percent v.graph v.percent,v.graph hitcount,v.percent k.graph,v; do
  hist_add events/synthetic/aa/trigger "keys=k:vals=$vals:sort=k" >/dev/null
done
marks a b c c
cat events/synthetic/aa/hist
marks l l
cat events/synthetic/aa/hist
hist_clean events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
