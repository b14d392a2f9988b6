# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An open trace file holds the sizes.
exec 3<trace
w buffer_size_kb 100
w buffer_subbuf_size_kb 8
w snapshot 1
w per_cpu/cpu0/buffer_size_kb 100
exec 3<&-
w buffer_size_kb 100
