# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A variable of one event used by another: set, not set, taken once.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 kk; u64 vv\n'
w synthetic_events 'end u64 kk; u64 ww\n'
w synthetic_events 'lat u64 kk; u64 sum\n'
put $P 'hist:keys=common_type:ks1=1,vs1=100:onmatch(ftrace.print).sy($ks1,$vs1) if buf == "s1"'
put $P 'hist:keys=common_type:ks2=2,vs2=200:onmatch(ftrace.print).sy($ks2,$vs2) if buf == "s2"'
put $P 'hist:keys=common_type:ek1=1,ew1=7:onmatch(ftrace.print).end($ek1,$ew1) if buf == "e1"'
put $P 'hist:keys=common_type:ek2=2,ew2=9:onmatch(ftrace.print).end($ek2,$ew2) if buf == "e2"'
put events/synthetic/sy/trigger 'hist:keys=kk:start=vv'
put events/synthetic/end/trigger 'hist:keys=kk:sum=$start+ww:onmatch(synthetic.sy).lat(kk,$sum)'
put events/synthetic/lat/trigger 'hist:keys=kk,sum:sort=kk,sum'
put events/synthetic/end/trigger 'hist:keys=kk:plain=$start:vals=$start:sort=kk'
echo_marker e1
echo_marker s1
echo_marker e1
echo_marker e1
echo_marker s2
echo_marker s1
echo_marker e2
echo_marker e1
echo_marker e2
cat events/synthetic/lat/hist
cat events/synthetic/end/hist
hist_clean events/synthetic/lat/trigger events/synthetic/end/trigger
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
w synthetic_events '!end\n'
w synthetic_events '!lat\n'
