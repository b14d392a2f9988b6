# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The total is the sum.
w buffer_size_kb 100
echo "$(($(cat buffer_total_size_kb) / $(cpus)))"
w per_cpu/cpu0/buffer_size_kb 200
echo "$(($(cat buffer_total_size_kb) - 103 * ($(cpus) - 1)))"
call o buffer_total_size_kb w
w buffer_total_size_kb 5
