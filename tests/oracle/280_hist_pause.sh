# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# pause, cont and clear: of what is there, and of what is not.
E=events/initcall/initcall_finish/trigger
hist_add "$E" 'keys=ret'
hist_add "$E" 'keys=ret if ret == 1'
for command in 'keys=ret:pause' 'keys=ret:pause' 'keys=ret:cont if ret == 1' 'keys=ret:clear' \
  'keys=ret:cont' \
  'keys=ret:pause:cont:clear' 'keys=ret:continue' 'keys=ret:size=256:pause' 'keys=func:pause' 'keys=func:cont' \
  'keys=func:pause:cont' 'keys=common_pid:cont' 'keys=common_pid:clear' 'keys=common_pid:pause:clear' \
  'keys=ret:clear if ret == 2' 'keys=ret:vals=func:continue' 'pause' 'keys=nosuch:clear'; do
  hist_add "$E" "$command"
done
hist_clean "$E"
