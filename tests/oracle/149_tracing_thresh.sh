# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Microseconds.
r tracing_thresh
for text in 100 0 x -1 '7\n'; do
  w tracing_thresh "$text"
  r tracing_thresh
done
