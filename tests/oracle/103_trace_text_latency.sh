# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The latency format.
w trace_marker 'one\n'
w options/latency-format 1
r trace
w options/verbose 1
r trace
