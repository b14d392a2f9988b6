# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The target of enable_event and its kin.
f=events/initcall/initcall_finish/trigger
for kind in enable_event disable_event enable_hist disable_hist; do
  for target in '' : :sched :sched: :sched:nosuch :nosuch:sched_waking ::sched_waking \
    :sched_waking ':sched: sched_waking' ':sched:sched_waking:' ':sched:sched_waking:x' \
    ':sched:sched_waking:-1' ':sched:sched_waking if' ':ftrace:print' ':ftrace:function'; do
    w $f "$kind$target\n"
  done
done
r $f
r events/sched/sched_waking/enable
