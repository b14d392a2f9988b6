# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# While trace or snapshot is open for reading.
w snapshot 1
exec 3<trace
w snapshot 1
w snapshot 2
w snapshot 0
exec 3<&-
w snapshot 1
exec 3<snapshot
w snapshot 1
w snapshot 0
exec 3<&-
w snapshot 0
