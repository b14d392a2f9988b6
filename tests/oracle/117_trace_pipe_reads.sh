# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# At most a page a read; small reads lose nothing.
n=0
while [ $n -lt 3 ]; do
  call fill trace_marker 100
  n=$((n + 1))
done
call n trace_pipe 100
w trace_marker 'one\n'
call n trace_pipe
