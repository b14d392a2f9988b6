# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# snapshot() of onmax and onchange.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
put $P 'hist:keys=common_type:ka10=1,va10=10:onmatch(ftrace.print).sy($ka10,$va10) if buf == "a10"'
put $P 'hist:keys=common_type:ka20=1,va20=20:onmatch(ftrace.print).sy($ka20,$va20) if buf == "a20"'
put $P 'hist:keys=common_type:kb15=2,vb15=15:onmatch(ftrace.print).sy($kb15,$vb15) if buf == "b15"'
put events/synthetic/sy/trigger 'hist:keys=k:m=v:onmax($m).snapshot():sort=k'
echo_marker a10
cat events/synthetic/sy/hist
echo_marker b15
echo_marker a10
echo_marker b15
cat events/synthetic/sy/hist
echo_marker a20
cat events/synthetic/sy/hist
hist_clean events/synthetic/sy/trigger
put events/synthetic/sy/trigger 'hist:keys=k:m=v:onchange($m).snapshot():sort=k'
echo_marker a10
echo_marker b15
echo_marker b15
cat events/synthetic/sy/hist
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
echo 0 >snapshot
