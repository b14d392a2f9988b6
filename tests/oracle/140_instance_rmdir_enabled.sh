# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Enabled events do not hold it.
mkdir instances/one
w instances/one/events/sched/sched_wakeup_new/enable 1
w instances/one/set_event_pid 1
w instances/one/tracing_on 0
w instances/one/snapshot 1
call rmdir instances/one
mkdir instances/one
r instances/one/set_event
r instances/one/set_event_pid
r instances/one/tracing_on
r instances/one/snapshot | grep Snapshot
