# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Modifiers of keys, as they are listed.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret.hex' \
  'keys=func.sym' \
  'keys=func.sym-offset' \
  'keys=func.sym-offset,func.sym-offset' \
  'keys=common_pid.execname' \
  'keys=ret.syscall' \
  'keys=ret.log2' \
  'keys=ret.buckets=10' \
  'keys=ret.bucket=10' \
  'keys=ret.buckets=0x10' \
  'keys=common_timestamp.usecs' \
  'keys=ret.usecs' \
  'keys=common_cpu.hex' \
  'keys=common_cpu.log2' \
  'keys=common_timestamp.log2' \
  'keys=common_timestamp.buckets=1000' \
  'keys=ret.hex,func.sym,common_pid.execname'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
