# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Keys and sums of a synthetic event that markers fire.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
put $P 'hist:keys=common_type:kone=1,vone=10:onmatch(ftrace.print).sy($kone,$vone) if buf == "one"'
put $P 'hist:keys=common_type:ktwo=2,vtwo=20:onmatch(ftrace.print).sy($ktwo,$vtwo) if buf == "two"'
put $P 'hist:keys=common_type:kthree=3,vthree=5:onmatch(ftrace.print).sy($kthree,$vthree) if buf == "three"'
put $P 'hist:keys=common_type:kseven=7,vseven=100:onmatch(ftrace.print).sy($kseven,$vseven) if buf == "seven"'
put $P 'hist:keys=common_type:keighteen=18,veighteen=3:onmatch(ftrace.print).sy($keighteen,$veighteen) if buf == "eighteen"'
put $P 'hist:keys=common_type:kbig=1000000,vbig=18446744073709551615:onmatch(ftrace.print).sy($kbig,$vbig) if buf == "big"'
put events/synthetic/sy/trigger 'hist:keys=k:sort=k'
put events/synthetic/sy/trigger 'hist:keys=k,v:vals=v:sort=k'
put events/synthetic/sy/trigger 'hist:keys=v:vals=k,v:sort=v.descending'
echo_marker one
echo_marker two
echo_marker three
echo_marker one
echo_marker seven
echo_marker eighteen
echo_marker one
echo_marker two
echo_marker big
cat events/synthetic/sy/hist
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
