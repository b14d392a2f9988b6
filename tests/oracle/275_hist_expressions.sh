# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Expressions: order, brackets of a unary minus, names in listings.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:x=ret+1' \
  'keys=ret:x=ret-1' \
  'keys=ret:x=ret*2' \
  'keys=ret:x=ret/2' \
  'keys=ret:x=ret+func' \
  'keys=ret:x=ret-func-1' \
  'keys=ret:x=ret+func*2' \
  'keys=ret:x=ret*func+2' \
  'keys=ret:x=ret*func/2-3' \
  'keys=ret:x=-(ret)' \
  'keys=ret:x=-(ret+1)' \
  'keys=ret:x=-(ret*2+1)' \
  'keys=ret:x=ret.hex+func.sym' \
  'keys=ret:x=common_cpu+1' \
  'keys=ret:x=hitcount+1' \
  'keys=ret+1' \
  'keys=ret*2,func/2' \
  'keys=ret+1:sort=ret+1' \
  'keys=ret:vals=ret*2:sort=ret*2' \
  'keys=ret:x=common_timestamp-ret' \
  'keys=ret:x=common_timestamp.usecs-common_timestamp.usecs' \
  'keys=ret:x=common_timestamp.usecs+common_timestamp.usecs+common_timestamp.usecs' \
  'keys=ret:x=common_pid.execname+1' \
  'keys=ret:x=ret:y=$x*2-func' \
  'keys=ret:x=ret/func/2'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
