# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Parts in any order, under all their names, several times.
E=events/initcall/initcall_finish/trigger
for command in \
  'key=ret' \
  'val=ret:key=ret' \
  'values=ret:keys=ret' \
  'size=256:sort=ret:vals=func:keys=ret' \
  'keys=func:keys=ret' \
  'keys=ret:vals=ret:vals=func' \
  'keys=ret,func:sort=ret:sort=func' \
  'keys=ret:vals=ret:val=func:values=hitcount' \
  'keys=ret:pause' \
  'pause:keys=ret' \
  'keys=ret:nohitcount:NOHC:vals=ret' \
  'keys=ret:x=ret:y=func' \
  'x=ret:keys=ret:y=func' \
  'onmax($x).save(ret):keys=ret:x=ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
