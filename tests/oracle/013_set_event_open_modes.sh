# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Which ways to open there are.
call o set_event r
call o set_event w
call o set_event rw
call o set_event c
call o available_events w
call o nosuch r
call o nosuch c
call o events/nosuch r
call o events/sched/nosuch/enable r
