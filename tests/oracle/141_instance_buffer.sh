# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Sizes of an instance.
mkdir instances/one
w buffer_size_kb 100
w instances/one/buffer_size_kb 200
r instances/one/buffer_size_kb
r buffer_size_kb
w instances/one/per_cpu/cpu0/buffer_size_kb 300
r instances/one/buffer_size_kb
