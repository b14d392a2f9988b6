# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A file of an instance that is open keeps it.
mkdir instances/a
exec 3>>instances/a/set_ftrace_filter
call rmdir instances/a
exec 3>&-
exec 3<instances/a/set_ftrace_notrace
call rmdir instances/a
exec 3<&-
exec 3>>instances/a/set_ftrace_pid
call rmdir instances/a
exec 3>&-
call rmdir instances/a
