# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Markers of an instance stay there.
mkdir instances/one
w instances/one/trace_marker 'mine\n'
w trace_marker 'top\n'
r trace
r instances/one/trace
