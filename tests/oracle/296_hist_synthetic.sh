# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Histograms on synthetic events; neither goes before the other.
w synthetic_events 'sy u64 a\n'
w synthetic_events 'two u64 a; s32 b\n'
hist_add events/synthetic/sy/trigger 'keys=a'
hist_add events/synthetic/sy/trigger 'keys=a:x=a:onmax($x).save(a)'
hist_add events/synthetic/sy/trigger 'keys=a:vals=a:sort=a.descending'
w synthetic_events '!sy\n'
call o synthetic_events t
r synthetic_events
hist_clean events/synthetic/sy/trigger
hist_add events/synthetic/two/trigger 'keys=b:f=a'
hist_add events/synthetic/sy/trigger 'keys=a:onmatch(synthetic.two).two($f,$f)'
hist_add events/synthetic/sy/trigger 'keys=a:onmatch(synthetic.two).sy($f)'
hist_add events/synthetic/two/trigger 'keys=a:onmatch(synthetic.sy).sy(a)'
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
hist_clean events/synthetic/sy/trigger events/synthetic/two/trigger
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
r synthetic_events
