# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# enable_hist and disable_hist: listed, in conflict, removed.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$S" 'keys=func'
w $E 'enable_hist:initcall:initcall_start\n'
w $E 'disable_hist:initcall:initcall_start:3\n'
w $E 'disable_hist:initcall:initcall_level:3 if ret == 1\n'
w $E 'enable_hist:initcall:nosuch\n'
w $E 'enable_hist\n'
hist_add "$E" 'keys=ret'
w $E '!disable_hist:initcall:initcall_start\n'
hist_show "$E"
hist_clean "$E"
hist_show "$E"
w $E '!enable_hist:initcall:initcall_level\n'
hist_clean "$S" "$E"
