# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# 4096 bytes are too many.
f=events/sched/sched_switch/filter
call fill $f 4095
r $f | cut -c1-80
call fill $f 4096
r $f | cut -c1-80
call fill $f 5000
