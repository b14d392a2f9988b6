# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The clock of an instance.
mkdir instances/one
r instances/one/trace_clock
w instances/one/trace_clock 'mono\n'
r instances/one/trace_clock
r trace_clock
