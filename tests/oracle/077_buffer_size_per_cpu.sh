# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One CPU's size; X when they differ.
w buffer_size_kb 100
w per_cpu/cpu0/buffer_size_kb 200
r per_cpu/cpu0/buffer_size_kb
r per_cpu/cpu1/buffer_size_kb
r buffer_size_kb
w per_cpu/cpu0/buffer_size_kb 0
w per_cpu/cpu0/buffer_size_kb x
w buffer_size_kb 100
r buffer_size_kb
r per_cpu/cpu0/buffer_size_kb
