# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmax and onchange: what they keep, what they fire.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 kk; u64 vv\n'
w synthetic_events 'out u64 a\n'
put $P 'hist:keys=common_type:ka10=1,va10=10:onmatch(ftrace.print).sy($ka10,$va10) if buf == "a10"'
put $P 'hist:keys=common_type:ka20=1,va20=20:onmatch(ftrace.print).sy($ka20,$va20) if buf == "a20"'
put $P 'hist:keys=common_type:ka5=1,va5=5:onmatch(ftrace.print).sy($ka5,$va5) if buf == "a5"'
put $P 'hist:keys=common_type:kb7=2,vb7=7:onmatch(ftrace.print).sy($kb7,$vb7) if buf == "b7"'
put $P 'hist:keys=common_type:kz0=3,vz0=0:onmatch(ftrace.print).sy($kz0,$vz0) if buf == "z0"'
put events/synthetic/sy/trigger 'hist:keys=kk:m=vv:onmax($m).save(vv,kk):sort=kk'
put events/synthetic/sy/trigger 'hist:keys=kk:c=vv:onchange($c).save(vv,kk):sort=kk if kk < 3'
put events/synthetic/sy/trigger 'hist:keys=kk:n=vv:onmax($n).out($n):sort=kk'
put events/synthetic/sy/trigger 'hist:keys=kk:d=vv:onchange($d).trace(out,$d):sort=kk'
put events/synthetic/out/trigger 'hist:keys=a:sort=a'
echo_marker a10
echo_marker a20
echo_marker a20
echo_marker a5
echo_marker b7
echo_marker b7
echo_marker a20
echo_marker a10
echo_marker z0
cat events/synthetic/sy/hist
cat events/synthetic/out/hist
hist_clean events/synthetic/out/trigger
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
w synthetic_events '!out\n'
