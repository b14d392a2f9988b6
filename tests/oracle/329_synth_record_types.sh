# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Records with fields of small types, given the fields of a marker.
P=events/ftrace/print/trigger
w synthetic_events 'sm unsigned char ff; unsigned char pc; u64 dd\n'
put $P 'hist:keys=common_type:xx=7:onmatch(ftrace.print).sm(common_flags,common_preempt_count,$xx)'
hist_show $P
grep -v '^ID' events/synthetic/sm/format
echo 1 >events/synthetic/sm/enable
: >trace
marks a
grep -o ' sm: .*' trace
put events/synthetic/sm/trigger 'hist:keys=ff,pc:vals=dd'
marks b c
cat events/synthetic/sm/hist
hist_clean events/synthetic/sm/trigger
echo 0 >events/synthetic/sm/enable
hist_clean "$P"
w synthetic_events '!sm\n'
