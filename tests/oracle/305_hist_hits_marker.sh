# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Hits of ftrace:print, with filters; what was not looked at before.
P=events/ftrace/print/trigger
for command in 'keys=common_type' 'keys=common_type if buf == "a"' \
  'keys=common_type:vals=common_flags if buf ~ "a*"' \
  'keys=common_type.hex:sort=common_type.descending if buf != "a"'; do
  put $P "hist:$command"
done
w trace_marker a
w trace_marker b
w trace_marker abc
w trace_marker a
cat events/ftrace/print/hist
hist_clean "$P"
cat events/ftrace/print/hist
