# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# More keys than entries, in tables with variables and actions.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k\n'
w synthetic_events 'bb u64 k; u64 v\n'
put $P 'hist:keys=common_type:n=1:onmatch(ftrace.print).aa($n)'
put $P 'hist:keys=common_timestamp:x=2:onmatch(ftrace.print).bb($x,$x)'
hist_show $P
put $P 'hist:keys=common_timestamp:size=128:vals=common_flags'
i=0
while [ $i -lt 140 ]; do i=$((i + 1)); echo_marker m; done
tail -n 5 events/ftrace/print/hist
put $P 'hist:keys=common_timestamp:size=128:vals=common_flags:clear'
echo_marker m
tail -n 5 events/ftrace/print/hist
hist_clean "$P"
w synthetic_events '!aa\n'
w synthetic_events '!bb\n'
