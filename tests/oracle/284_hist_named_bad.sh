# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Other definitions under a name that is taken.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$E" 'keys=func:name=foo'
for command in 'keys=common_pid:name=foo' 'keys=func,common_pid:name=foo' \
  'keys=func:vals=func:name=foo' 'keys=func.hex:name=foo' \
  'keys=func:x=func:name=foo' 'keys=func:sort=func:name=foo' 'keys=func:clear:name=bar' 'keys=func:pause:name=bar' 'keys=func:cont:name=foo'; do
  hist_add "$S" "$command"
done
hist_add "$E" 'keys=ret:name=foo'
w $E '!hist:keys=func\n'
w $E '!hist:keys=func:name=other\n'
hist_show "$E"
hist_clean "$E" "$S"
