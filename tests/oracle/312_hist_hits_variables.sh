# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Variables and expressions at a hit: arithmetic, division by zero, read once.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
w synthetic_events 'out u64 a; u64 b; u64 c; u64 d\n'
put $P 'hist:keys=common_type:kone=1,vone=10:onmatch(ftrace.print).sy($kone,$vone) if buf == "one"'
put $P 'hist:keys=common_type:kzero=1,vzero=0:onmatch(ftrace.print).sy($kzero,$vzero) if buf == "zero"'
put $P 'hist:keys=common_type:ktwo=2,vtwo=20:onmatch(ftrace.print).sy($ktwo,$vtwo) if buf == "two"'
put $P 'hist:keys=common_type:khuge=1,vhuge=18446744073709551615:onmatch(ftrace.print).sy($khuge,$vhuge) if buf == "huge"'
put events/synthetic/sy/trigger 'hist:keys=k:a=v+7,b=v-7,c=v*3,d=100/v:onmatch(synthetic.sy).out($a,$b,$c,$d)'
put events/synthetic/out/trigger 'hist:keys=a,b:vals=c,d:sort=a'
put events/synthetic/out/trigger 'hist:keys=c,d:sort=c'
put events/synthetic/out/trigger 'hist:keys=a:e=-(a):onchange($e).out($e,$e,$e,$e) if a == 17'
echo_marker one
echo_marker zero
echo_marker two
echo_marker one
echo_marker huge
cat events/synthetic/out/hist
hist_clean events/synthetic/out/trigger
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
w synthetic_events '!out\n'
