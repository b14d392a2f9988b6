# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A synthetic event that a histogram fires is recorded, with its filter.
P=events/ftrace/print/trigger
# v1 … : a marker of this text fires the synthetic event with these values.
w synthetic_events 'sy u64 k; u64 v\n'
put $P 'hist:keys=common_type:kone=1,vone=10:onmatch(ftrace.print).sy($kone,$vone) if buf == "one"'
put $P 'hist:keys=common_type:ktwo=2,vtwo=20:onmatch(ftrace.print).sy($ktwo,$vtwo) if buf == "two"'
echo 1 >events/synthetic/sy/enable
echo 'k == 2' >events/synthetic/sy/filter
echo_marker one
echo_marker two
echo_marker one
echo_marker two
grep -E ': (sy|tracing_mark_write): ' trace | sed 's/.*: \(sy\|tracing\)/\1/'
echo 0 >events/synthetic/sy/filter
echo 0 >tracing_on
echo_marker one
echo 1 >tracing_on
echo_marker one
grep -E ': (sy|tracing_mark_write): ' trace | sed 's/.*: \(sy\|tracing\)/\1/'
echo 0 >events/synthetic/sy/enable
: >trace
hist_clean "$P" events/synthetic/sy/trigger
w synthetic_events '!sy\n'
