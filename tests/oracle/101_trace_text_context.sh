# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Without the context, without the irq column.
w trace_marker 'one\n'
w options/context-info 0
r trace
w options/context-info 1
w options/irq-info 0
r trace
w options/irq-info 1
w options/record-tgid 1
r trace
