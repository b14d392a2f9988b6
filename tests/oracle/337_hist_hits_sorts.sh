# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Two sorts, up and down, by keys, sums and hitcount.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 g; u64 v\n'
hist_fires aa a 1 5 10
hist_fires aa b 2 5 7
hist_fires aa c 3 6 1
hist_fires aa d 4 6 18446744073709551615
for sort in g,k g.descending,k g,k.descending v.descending hitcount,k hitcount.descending,k.descending \
  k.ascending v,g; do
  put events/synthetic/aa/trigger "hist:keys=k,g:vals=v:sort=$sort"
done
hist_show events/synthetic/aa/trigger
marks a a a b b c d d
cat events/synthetic/aa/hist
hist_clean events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
