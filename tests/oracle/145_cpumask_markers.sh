# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A CPU that is masked does not record.
w trace_marker 'one\n'
w tracing_cpumask 0
w trace_marker 'two\n'
put tracing_cpumask "$ALL_CPUS"
w trace_marker 'three\n'
r trace | tail -n 2
