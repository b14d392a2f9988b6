# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Keys in groups: powers of two at their borders, buckets of each size.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k\n'
i=0
for value in 0 1 2 3 4 5 8 9 1023 1024 1025 4294967296 18446744073709551615; do
  i=$((i + 1))
  hist_fires aa x$i $value
done
for key in k.log2 k.buckets=1 k.buckets=2 k.buckets=1000 k.bucket=3 k.hex; do
  put events/synthetic/aa/trigger "hist:keys=$key:sort=k"
done
hist_show events/synthetic/aa/trigger
i=0
while [ $i -lt 13 ]; do i=$((i + 1)); echo_marker x$i; done
cat events/synthetic/aa/hist
hist_clean events/synthetic/aa/trigger "$P"
for key in k.buckets k.buckets= k.buckets=0 k.buckets=-1 k.buckets=x k.buckets=0x10 k.buckets=010 k.buckets=4.hex k.log2=3 k.hex.log2; do
  hist_try events/synthetic/aa/trigger "keys=$key"
done
hist_clean events/synthetic/aa/trigger
w synthetic_events '!aa\n'
