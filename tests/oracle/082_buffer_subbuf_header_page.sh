# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# header_page follows.
w buffer_subbuf_size_kb 8
r events/header_page
w buffer_subbuf_size_kb 512
r events/header_page
w buffer_subbuf_size_kb 4
r events/header_page
r events/header_event
