# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Texts as keys, and as values of a synthetic event.
P=events/ftrace/print/trigger
w synthetic_events 'st char a[16]; char b[]; u64 n\n'
put $P 'hist:keys=common_type:c=common_pid.execname,n=5:onmatch(ftrace.print).st($c,$c,$n)'
put $P 'hist:keys=common_type:d=common_pid.execname,m=5:onmatch(ftrace.print).trace(st,$d,$d,$m)'
hist_show "$P"
hist_clean "$P"
w synthetic_events '!st\n'
w synthetic_events 'sd char bb[]; u64 nn\n'
put $P 'hist:keys=common_type:d=common_pid.execname,m=5:onmatch(ftrace.print).sd($d,$m)'
put events/synthetic/sd/trigger 'hist:keys=bb:vals=nn:sort=bb'
put events/synthetic/sd/trigger 'hist:keys=nn,bb:x=bb:onchange($m2).save(bb,nn):m2=nn:sort=bb'
hist_show events/synthetic/sd/trigger
w trace_marker a
w trace_marker b
cat events/synthetic/sd/hist
hist_clean "$P" events/synthetic/sd/trigger
w synthetic_events '!sd\n'
