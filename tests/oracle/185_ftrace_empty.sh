# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What the files say while nothing is set.
for file in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid; do
  r $file
  call mode $file
done
cat enabled_functions
