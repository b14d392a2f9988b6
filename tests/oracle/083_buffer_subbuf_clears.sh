# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Another sub-buffer size clears; a long marker then fits.
w trace_marker 'one\n'
w buffer_subbuf_size_kb 8
r trace | tail -n 1
call fill trace_marker 4096
call fill trace_marker 5000
w buffer_subbuf_size_kb 4
call fill trace_marker 4096
