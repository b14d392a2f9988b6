# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# 4096 bytes are too many.
f=events/sched/sched_switch/filter
call fill $f 4095
call fill $f 4096
call fill $f 5000
