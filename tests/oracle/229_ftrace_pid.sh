# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Lists of threads.
for file in set_ftrace_pid set_ftrace_notrace_pid; do
  w $file '30 10 20\n'
  r $file
  w $file '5\n'
  r $file
  t $file '7 7 7\n'
  r $file
  w $file '\n'
  r $file
  t $file '\n'
  r $file
done
