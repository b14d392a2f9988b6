# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Per CPU: only clearing.
r per_cpu/cpu0/snapshot
w per_cpu/cpu0/snapshot 0
w per_cpu/cpu0/snapshot 2
w trace_marker 'one\n'
w snapshot 1
r per_cpu/cpu0/snapshot
w per_cpu/cpu0/snapshot 0
w per_cpu/cpu0/snapshot x
w per_cpu/cpu1/snapshot 2
r snapshot | tail -n 1
w per_cpu/cpu0/snapshot 2
r snapshot | tail -n 1
