# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Paused from the start, continued, cleared while paused and while running; what is refused.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k\n'
hist_fires aa a 1
T=events/synthetic/aa/trigger
w $T 'hist:keys=k:pause\n'
marks a
cat events/synthetic/aa/hist
w $T 'hist:keys=k:continue\n'
marks a a
w $T 'hist:keys=k:pause\n'
marks a
w $T 'hist:keys=k:clear\n'
hist_show $T
cat events/synthetic/aa/hist
w $T 'hist:keys=k:cont\n'
marks a
w $T 'hist:keys=k:clear\n'
marks a
cat events/synthetic/aa/hist
w $T 'hist:keys=k\n'
w $T 'hist:keys=k:vals=k:cont\n'
w $T 'hist:keys=k:pause:cont\n'
w $T 'hist:keys=k:cont:pause\n'
w $T 'hist:keys=k:clear:pause\n'
hist_show $T
w $T 'hist:keys=k if k == 1\n'
w $T 'hist:keys=k:pause if k == 1\n'
hist_show $T
w $T '!hist:keys=k:pause if k == 1\n'
hist_show $T
hist_clean $T "$P"
w synthetic_events '!aa\n'
