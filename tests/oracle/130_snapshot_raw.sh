# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Raw pages of the snapshot.
call n per_cpu/cpu0/snapshot_raw 4096
w trace_marker 'one\n'
w snapshot 1
call n per_cpu/cpu0/snapshot_raw 4096
