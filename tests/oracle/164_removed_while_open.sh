# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Files of an instance that held it, read on after it is gone.
mkdir instances/one
exec 3<instances/one/events/sched/sched_switch/format
call rmdir instances/one
call r '&3'
exec 3<&-
call o instances/one/trace r
