# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmax and onchange with save.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:x=ret:onmax($x).save(ret)' \
  'keys=ret:x=ret:onmax($x).save(ret,func,common_pid)' \
  'keys=ret:x=ret:onchange($x).save(common_cpu,common_timestamp.usecs)' \
  'keys=ret:x=ret+1:onmax($x).save(ret.hex)' \
  'keys=ret:x=ret:onmax($x).save( ret , func )' \
  'keys=ret:x=ret:onmax($x).saved(ret)' \
  'keys=ret:x=ret:onmax($x) .save(ret)' \
  'keys=ret:x=ret:onmax($x).save(ret)junk' \
  'keys=ret:x=ret:onmax($x).save(ret' \
  'keys=ret:x=ret:onmax($x).save(ret,ret)' \
  'keys=ret:x=ret:onmax($x).save(a.b.ret)' \
  'keys=ret:x=ret:onmax($x).save(55)' \
  'keys=ret:x=ret:onmax($x).save(ret.log2)' \
  'keys=ret:x=ret:onmax($x).save(common_stacktrace)' \
  'keys=ret:x=ret:y=func:onmax($x).save(ret):onchange($y).snapshot()' \
  'keys=ret:x=ret:onmax($x).save(ret) if ret > 1' \
  'keys=ret:onchange($x).save(func):x=ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
