# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# fresh
# The texts before the first use, and after it.
r buffer_size_kb
echo "$(($(sed 's/ .*//' buffer_total_size_kb) / $(cpus)))"
r per_cpu/cpu0/buffer_size_kb
r buffer_subbuf_size_kb
put events/sched/sched_wakeup_new/enable 1
r per_cpu/cpu0/buffer_size_kb
r buffer_size_kb
