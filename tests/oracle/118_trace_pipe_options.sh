# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The options of the text hold for the pipe.
w trace_marker 'one\n'
w options/context-info 0
p trace_pipe
w trace_marker 'two\n'
w options/context-info 1
w options/irq-info 0
p trace_pipe
