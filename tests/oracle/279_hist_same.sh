# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# The same trigger twice; what makes it another one.
E=events/initcall/initcall_finish/trigger
for command in 'keys=ret' 'keys=ret' 'key=ret:vals=hitcount:sort=hitcount:size=4096' \
  'keys=ret.hex' \
  'keys=ret.buckets=2' 'keys=ret.buckets=4' 'keys=ret+1' 'keys=ret+2' 'keys=ret:sort=ret' \
  'keys=ret:sort=ret.descending' 'keys=ret:vals=func' 'keys=ret if ret == 1' 'keys=ret if ret==1' \
  'keys=ret if ret == 1' 'keys=ret:x=1' 'keys=ret:y=1' 'keys=ret:x=2' 'keys=ret:vals=1' 'keys=ret:vals=2' \
  'keys=ret:vals=func:nohitcount' 'keys=common_timestamp' 'keys=common_timestamp:clock=mono'; do
  hist_add "$E" "$command"
done
hist_clean "$E"
