# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Records of a synthetic event, as text, and its own filter and trigger.
P=events/ftrace/print/trigger
put options/markers 1
w synthetic_events 'sy u64 k; u64 v\n'
hist_fires sy a 1 10
hist_fires sy b 2 18446744073709551615
hist_fires sy c 3 0
marks a b
echo 1 >events/synthetic/sy/enable
: >trace
marks a b c
grep -o ' sy: .*\|: [abc]$' trace
put events/synthetic/sy/filter 'v > 5 && k < 2'
: >trace
marks a b c
grep -o ' sy: .*' trace
put events/synthetic/sy/filter 0
put events/synthetic/sy/trigger 'traceoff if k == 3'
: >trace
marks a c b
cat tracing_on
grep -o ' sy: .*' trace
echo 1 >tracing_on
put events/synthetic/sy/trigger '!traceoff'
echo 1 >options/raw
: >trace
marks a
grep -c . trace
echo 0 >options/raw
echo 0 >events/synthetic/sy/enable
hist_clean "$P"
w synthetic_events '!sy\n'
