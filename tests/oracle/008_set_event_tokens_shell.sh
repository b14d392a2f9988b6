# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2320
# The shell's echo writes on until all tokens are taken.
echo sched_wakeup sched_waking '!sched_wakeup' sched_switch >>set_event
echo "status $?"
enabled
echo sched_wakeup nosuch sched_wakeup_new 2>/dev/null >>set_event
echo "status $?"
enabled
