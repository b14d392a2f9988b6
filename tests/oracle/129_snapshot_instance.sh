# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An instance has its own.
mkdir instances/one
w instances/one/trace_marker 'one\n'
w instances/one/snapshot 1
r instances/one/snapshot
r snapshot | grep Snapshot
r instances/one/trace
