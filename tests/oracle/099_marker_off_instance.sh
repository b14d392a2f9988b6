# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An instance that is off.
mkdir instances/one
r instances/one/tracing_on
w instances/one/tracing_on 0
w instances/one/trace_marker 'one\n'
w trace_marker 'one\n'
r tracing_on
