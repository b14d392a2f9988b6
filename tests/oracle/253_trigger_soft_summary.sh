# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What the switches of systems, set_event and its file say of an event in soft mode.
s=events/initcall/initcall_start/trigger
w $s 'traceoff\n'
r events/initcall/initcall_start/enable
r events/initcall/enable
enabled
w events/initcall/initcall_start/enable '1\n'
r events/initcall/initcall_start/enable
r events/initcall/enable
enabled
w set_event '!initcall:initcall_start\n'
r events/initcall/initcall_start/enable
w set_event 'initcall:initcall_start\n'
r events/initcall/initcall_start/enable
t set_event ''
r events/initcall/initcall_start/enable
r events/initcall/enable
w events/initcall/enable '1\n'
r events/initcall/enable
w events/initcall/enable '0\n'
r events/initcall/enable
w $s '!traceoff\n'
r events/initcall/enable
r events/initcall/initcall_start/enable
