# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# disable_hist and enable_hist at a hit, with counts.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
put $P 'hist:keys=common_type:kone=1,vone=10:onmatch(ftrace.print).sy($kone,$vone) if buf == "one"'
put events/synthetic/sy/trigger 'hist:keys=k'
put events/synthetic/sy/trigger 'hist:keys=v:pause'
put $P 'disable_hist:synthetic:sy if buf == "off"'
hist_show events/synthetic/sy/trigger
echo_marker one
echo_marker off
echo_marker one
hist_show events/synthetic/sy/trigger
cat events/synthetic/sy/hist
put events/synthetic/sy/trigger 'hist:keys=v:cont'
hist_show events/synthetic/sy/trigger
echo_marker one
cat events/synthetic/sy/hist
put $P '!disable_hist:synthetic:sy'
put $P 'enable_hist:synthetic:sy:1 if buf == "on"'
echo_marker on
echo_marker one
hist_show events/synthetic/sy/trigger
cat events/synthetic/sy/hist
put events/synthetic/sy/trigger 'hist:keys=k:pause'
echo_marker on
echo_marker one
hist_show events/synthetic/sy/trigger
put $P '!enable_hist:synthetic:sy'
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
