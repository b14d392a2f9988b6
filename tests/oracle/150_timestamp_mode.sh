# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Only for reading.
r timestamp_mode
call o timestamp_mode w
w timestamp_mode absolute
