# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An event may be its own target.
f=events/initcall/initcall_start/trigger
e=events/initcall/initcall_start/enable
w $f 'enable_event:initcall:initcall_start\n'
r $f
r $e
w $e '1\n'
r $e
w $f '!enable_event:initcall:initcall_start\n'
r $e
w $f 'disable_event:initcall:initcall_start:1\n'
r $e
w $e '0\n'
r $e
w $f '!disable_event:initcall:initcall_start\n'
r $f
r $e
