# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Variables, as they are listed.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:x=ret' \
  'keys=ret:x=ret,y=func' \
  'keys=ret:x=ret:y=func' \
  'keys=ret:x=5' \
  'keys=ret:x=0x10' \
  'keys=ret:x=010' \
  'keys=ret:x=18446744073709551615' \
  'keys=ret:x=common_cpu' \
  'keys=ret:x=cpu' \
  'keys=ret:x=common_stacktrace' \
  'keys=ret:x=common_pid.execname' \
  'keys=ret:x=common_timestamp' \
  'keys=ret:x=common_timestamp.usecs' \
  'keys=ret:x=ret.hex' \
  'keys=ret:x=func.sym' \
  'keys=ret:x=ret.syscall' \
  'keys=ret:x=hitcount' \
  'keys=ret:x=ret:y=$x' \
  'keys=$x:x=ret' \
  'keys=ret:vals=$x:x=ret.hex' \
  'keys=ret:x=ret:y=$x+1' \
  'keys=ret:x=initcall.initcall_finish.ret' \
  'keys=ret:x=foo.bar.ret' \
  'keys=ret:x=ret:y=initcall.initcall_finish.$x' \
  'keys=ret:x=ret:sort=ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
