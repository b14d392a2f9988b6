# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Two events count into one table.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
w synthetic_events 'so u64 k; u64 v\n'
put $P 'hist:keys=common_type:kone=1,vone=10:onmatch(ftrace.print).sy($kone,$vone) if buf == "one"'
put $P 'hist:keys=common_type:ktwo=2,vtwo=20:onmatch(ftrace.print).sy($ktwo,$vtwo) if buf == "two"'
put $P 'hist:keys=common_type:ok=1,ov=3:onmatch(ftrace.print).so($ok,$ov) if buf == "other"'
put events/synthetic/sy/trigger 'hist:keys=k:vals=v:sort=k:name=both'
put events/synthetic/so/trigger 'hist:keys=k:vals=v:sort=k:name=both'
echo_marker one
echo_marker two
echo_marker other
echo_marker other
cat events/synthetic/sy/hist
cat events/synthetic/so/hist
put events/synthetic/sy/trigger 'hist:keys=k:vals=v:sort=k:name=both:pause'
echo_marker one
echo_marker other
cat events/synthetic/so/hist
put events/synthetic/so/trigger 'hist:keys=k:vals=v:sort=k:name=both:clear'
cat events/synthetic/sy/hist
put events/synthetic/sy/trigger '!hist:keys=k:vals=v:sort=k:name=both'
echo_marker one
echo_marker other
cat events/synthetic/so/hist
hist_clean events/synthetic/so/trigger
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
w synthetic_events '!so\n'
