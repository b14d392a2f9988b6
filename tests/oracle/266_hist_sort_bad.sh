# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Sort keys that are refused.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:sort=foo' \
  'keys=ret:sort=func' \
  'keys=ret:sort=' \
  'keys=ret:sort=ret,' \
  'keys=ret:sort=,ret' \
  'keys=ret:sort=.descending' \
  'keys=ret:sort=ret.foo' \
  'keys=ret:sort=ret.hex' \
  'keys=ret:sort=hitcount.percent' \
  'keys=ret:sort=ret,ret,ret' \
  'keys=ret:sort=ret,hitcount,ret' \
  'keys=ret:sort=foo,ret' \
  'keys=ret:sort=foo,ret,ret' \
  'keys=ret:x=ret:sort=x' \
  'keys=ret:sort=ret.descending.descending' \
  'keys=cpu:sort=cpu'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
