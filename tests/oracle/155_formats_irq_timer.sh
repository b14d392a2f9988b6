# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
for event in irq/irq_handler_entry irq/irq_handler_exit irq/softirq_entry irq/softirq_exit \
  irq/softirq_raise timer/timer_start timer/timer_cancel timer/timer_expire_entry \
  timer/hrtimer_start \
  timer/hrtimer_cancel; do
  r events/$event/format
done
