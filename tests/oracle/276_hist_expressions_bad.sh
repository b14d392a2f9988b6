# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Expressions that are refused.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:x=1+2+3+4+5' \
  'keys=ret:x=ret+1+2+3+4+ret' \
  'keys=ret:x=ret-5-2*3/1' \
  'keys=ret:x=ret+1+2+3+4' \
  'keys=ret:x=ret/0' \
  'keys=ret:x=3/0' \
  'keys=ret:x=ret/0x0' \
  'keys=ret:x=ret/00+1' \
  'keys=ret:x=ret+' \
  'keys=ret:x=+ret' \
  'keys=ret:x=*ret' \
  'keys=ret:x=ret//2' \
  'keys=ret:x=ret+*2' \
  'keys=ret:x=-ret' \
  'keys=ret:x=-5' \
  'keys=ret:x=-(ret' \
  'keys=ret:x=-ret)' \
  'keys=ret:x=-(ret)+1' \
  'keys=ret:x=-(ret).hex' \
  'keys=ret:x=1+-(ret)' \
  'keys=ret:x=-(ret-1)' \
  'keys=ret:x=-(-(ret))' \
  'keys=ret:x=(ret+1)*2' \
  'keys=ret:x=ret+nosuch' \
  'keys=ret:x=nosuch+ret' \
  'keys=ret:x=ret+$y' \
  'keys=ret:x=common_timestamp.usecs-ret' \
  'keys=ret:x=common_timestamp.usecs/100' \
  'keys=ret:x=common_timestamp.usecs-common_timestamp' \
  'keys=ret:x=ret+5a' \
  'keys=ret:x=ret - 1'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
