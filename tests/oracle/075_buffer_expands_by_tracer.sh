# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# fresh
# Writing current_tracer is a use.
w current_tracer 'nop\n'
r buffer_size_kb
