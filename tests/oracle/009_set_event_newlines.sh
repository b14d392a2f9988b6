# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Newlines separate as blanks do.
printf 'sched_wakeup\nsched_waking\n\n!sched_wakeup\n' >>set_event
echo "status $?"
enabled
w set_event '\nsched_switch\n'
w set_event '\n\n\n'
enabled
