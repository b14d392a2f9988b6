# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Sort keys: one, two, of values and keys, with and without direction.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:sort=ret' \
  'keys=ret:sort=ret.descending' \
  'keys=ret:sort=ret.ascending' \
  'keys=ret:sort=hitcount' \
  'keys=ret:sort=hitcount.descending' \
  'keys=func,ret:sort=ret,func' \
  'keys=func,ret:sort=ret.descending,func.descending' \
  'keys=ret:vals=func:sort=func.descending,ret' \
  'keys=ret.hex:sort=ret' \
  'keys=ret.buckets=4:sort=ret.descending' \
  'keys=common_pid.execname:sort=common_pid' \
  'keys=common_cpu:sort=common_cpu' \
  'keys=stacktrace:sort=common_stacktrace' \
  'keys=common_timestamp:sort=common_timestamp.descending' \
  'keys=ret+1:sort=ret+1' \
  'keys=ret:sort=ret,ret' \
  'keys=ret:vals=ret:sort=ret' \
  'keys=ret:vals=hitcount,hitcount:sort=hitcount,hitcount' \
  'keys=ret:x=ret:vals=func:sort=func,ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
