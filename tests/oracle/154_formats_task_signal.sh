# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
for event in task/task_newtask task/task_rename signal/signal_generate signal/signal_deliver \
  module/module_load module/module_free rcu/rcu_utilization workqueue/workqueue_execute_start \
  initcall/initcall_start initcall/initcall_finish initcall/initcall_level; do
  r events/$event/format
done
