# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Timestamps set the clock, for good; timestamp_mode stays.
E=events/initcall/initcall_finish/trigger
r trace_clock
hist_add "$E" 'keys=ret:clock=mono'
r trace_clock
hist_add "$E" 'keys=ret:x=common_timestamp'
r trace_clock
r timestamp_mode
hist_clean "$E"
r trace_clock
hist_add "$E" 'keys=ret:x=common_timestamp:clock=mono'
r trace_clock
hist_add "$E" 'keys=ret:y=common_timestamp.usecs:clock=boot'
r trace_clock
w $E '!hist:keys=ret:y=common_timestamp.usecs\n'
r trace_clock
for command in 'keys=common_timestamp:clock=nosuch' 'keys=ret:clock=nosuch' \
  'keys=ret:vals=common_timestamp:clock= x86-tsc ' \
  'keys=func:z=common_timestamp:clock=local:clock=uptime' 'keys=common_timestamp:clock=glob'; do
  hist_try "$E" "$command"
  r trace_clock
done
hist_clean "$E"
echo local >trace_clock
