# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The ftrace system cannot be enabled.
call o events/ftrace/enable r
call o events/ftrace/filter r
call o events/ftrace/print/enable r
call o events/ftrace/print/filter r
call o events/ftrace/print/id r
call o events/ftrace/raw_data/id r
call o events/ftrace/function/format r
w set_event 'ftrace:print\n'
w set_event 'print\n'
