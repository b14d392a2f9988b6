# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# With the option, it stops too.
w options/disable_on_free 1
w free_buffer 'x\n'
r tracing_on
r buffer_size_kb
