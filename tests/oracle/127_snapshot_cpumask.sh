# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A mask of no CPU while the snapshot is taken.
w trace_marker 'one\n'
w tracing_cpumask 0
w snapshot 1
put tracing_cpumask "$ALL_CPUS"
w trace_marker 'two\n'
r trace | tail -n 1
r snapshot | tail -n 1
