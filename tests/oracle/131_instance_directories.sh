# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# mkdir and rmdir, where and how.
call mkdir instances/one
call mkdir instances/one
call mkdir instances/one/two
call mkdir instances/one/events/two
call mkdir two
call mkdir events/two
call mkdir options/two
call rmdir instances/one
call rmdir instances/one
call rmdir instances
call rmdir events
call rmdir events/sched
call rmdir per_cpu/cpu0
call rmdir instances/nosuch
