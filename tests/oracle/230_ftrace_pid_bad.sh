# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# All words of a write count, or none.
w set_ftrace_pid '1\n'
for text in 'x\n' '2 x\n' '-1\n' '3.5\n' '0x10\n' '1,2\n' '!1\n' '99999999999\n'; do
  w set_ftrace_pid "$text"
  r set_ftrace_pid
done
