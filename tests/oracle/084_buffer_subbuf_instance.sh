# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An instance has its own sub-buffers.
w buffer_subbuf_size_kb 8
mkdir instances/one
r instances/one/buffer_subbuf_size_kb
w instances/one/buffer_subbuf_size_kb 16
r buffer_subbuf_size_kb
r events/header_page
r instances/one/events/header_page
