# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A field of the matched event makes a histogram there; it goes with the one that needed it.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
L=events/initcall/initcall_level/trigger
w synthetic_events 'sy u64 a\n'
w synthetic_events 'two u64 a; s32 b\n'
hist_add "$E" 'keys=common_pid.hex,common_cpu:x=ret if ret > 0'
hist_add "$S" 'keys=common_pid:onmatch(initcall.initcall_finish).two(ret,ret)'
hist_add "$S" 'keys=common_pid.hex,common_cpu:onmatch(initcall.initcall_finish).two(func,common_pid)'
hist_show "$E"
hist_add "$L" 'keys=common_pid.hex,common_cpu:onmatch(initcall.initcall_finish).sy(func)'
hist_show "$E"
w $E '!hist:keys=common_pid.hex,common_cpu:synthetic_func=func if ret > 0\n'
hist_clean "$L"
hist_show "$E"
hist_add "$L" 'keys=common_pid.hex,common_cpu:onmatch(initcall.initcall_finish).two(func,nosuch)'
hist_add "$L" 'keys=common_pid.hex,common_cpu:onmatch(initcall.initcall_finish).sy(nosuch)'
hist_add "$L" 'keys=common_pid.hex,common_cpu:onmatch(initcall.initcall_finish).two(func)'
hist_clean "$S"
hist_show "$E"
hist_clean "$E"
w synthetic_events '!sy\n'
w synthetic_events '!two\n'
