# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A table of 128 and 150 keys: entries, hits, drops.
P=events/ftrace/print/trigger
w synthetic_events 'sy u64 k\n'
put events/synthetic/sy/trigger 'hist:keys=k:size=128'
put events/synthetic/sy/trigger 'hist:keys=k:size=256'
i=0
while [ $i -lt 150 ]; do
  echo "hist:keys=common_type:k=$i:onmatch(ftrace.print).sy(\$k)" >$P
  echo x >trace_marker
  echo x >trace_marker
  i=$((i + 1))
done
tail -n 4 events/synthetic/sy/hist
grep -A 3 Totals events/synthetic/sy/hist
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
