# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The caller writes the rest.
call fill trace_marker 4054
w trace_marker 'tail\n'
r trace | tail -n 2 | awk '{ print length($0) > 4000, $NF == "tail" }'
