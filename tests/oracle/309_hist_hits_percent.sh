# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Shares and bars.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
put $P 'hist:keys=common_type:kone=1,vone=10:onmatch(ftrace.print).sy($kone,$vone) if buf == "one"'
put $P 'hist:keys=common_type:ktwo=2,vtwo=20:onmatch(ftrace.print).sy($ktwo,$vtwo) if buf == "two"'
put $P 'hist:keys=common_type:kthree=3,vthree=5:onmatch(ftrace.print).sy($kthree,$vthree) if buf == "three"'
put $P 'hist:keys=common_type:kseven=7,vseven=100:onmatch(ftrace.print).sy($kseven,$vseven) if buf == "seven"'
put $P 'hist:keys=common_type:keighteen=18,veighteen=3:onmatch(ftrace.print).sy($keighteen,$veighteen) if buf == "eighteen"'
put events/synthetic/sy/trigger 'hist:keys=k:vals=hitcount.percent,v.percent:sort=k'
put events/synthetic/sy/trigger 'hist:keys=k:vals=hitcount.graph,v.graph:sort=k'
put events/synthetic/sy/trigger 'hist:keys=k:vals=v.percent,v:nohitcount:sort=k'
put events/synthetic/sy/trigger 'hist:keys=k:vals=hitcount,hitcount.percent:sort=k.descending'
echo_marker one
echo_marker two
echo_marker three
echo_marker one
echo_marker seven
echo_marker eighteen
echo_marker one
echo_marker two
cat events/synthetic/sy/hist
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
