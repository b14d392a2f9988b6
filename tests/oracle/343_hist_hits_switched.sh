# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# enable_hist and disable_hist by markers, with counts and filters.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k\n'
T=events/synthetic/aa/trigger
hist_fires aa a 1
put $T 'hist:keys=k:pause'
w $P 'enable_hist:synthetic:aa:2 if buf == "on"\n'
w $P 'disable_hist:synthetic:aa if buf == "off"\n'
w $P 'enable_hist:synthetic:aa if buf == "on"\n'
grep _hist $P
marks a on a on a on
hist_show $T
put $T 'hist:keys=k:pause'
marks a on a
grep _hist $P
cat events/synthetic/aa/hist
put $P '!enable_hist:synthetic:aa'
w $P 'disable_hist:synthetic:aa if buf == "off"\n'
put $T 'hist:keys=k:cont'
marks a off a a
cat events/synthetic/aa/hist
hist_show $T
put $P '!disable_hist:synthetic:aa'
grep _hist $P
hist_clean $T "$P"
w synthetic_events '!aa\n'
