# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A new instance after the top's clock was changed.
w trace_clock 'boot\n'
mkdir instances/one
r instances/one/trace_clock
