# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Values: their listing, their modifiers, hitcount among them.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:vals=ret' \
  'keys=ret:vals=hitcount' \
  'keys=ret:vals=hitcount,ret' \
  'keys=ret:vals=ret,hitcount' \
  'keys=ret:vals=ret,func' \
  'keys=ret:vals=hitcount,ret,func' \
  'keys=ret:vals=ret,func,hitcount' \
  'keys=ret:vals=hitcount,hitcount' \
  'keys=ret:vals=hitcount.percent' \
  'keys=ret:vals=hitcount.graph,hitcount.percent' \
  'keys=ret:vals=ret.hex' \
  'keys=ret:vals=ret.percent,ret.graph' \
  'keys=ret:vals=ret.percentage' \
  'keys=ret:vals=common_timestamp,common_cpu' \
  'keys=ret:vals=common_pid.execname' \
  'keys=ret:vals=ret:nohitcount' \
  'keys=ret:NOHC:vals=ret.graph' \
  'keys=ret:vals=ret.usecs' \
  'keys=ret:vals=ret+1' \
  'keys=ret:vals=-(ret)'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
