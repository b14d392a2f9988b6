# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmax and onchange: what is refused.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:onmax(ret).save(ret)' \
  'keys=ret:onmax($x).save(ret)' \
  'keys=ret:onmax().save(ret)' \
  'keys=ret:onmax($).save(ret)' \
  'keys=ret:x=ret:onmax( $x).save(ret)' \
  'keys=ret:x=ret:onmax($x)' \
  'keys=ret:x=ret:onmax($x).' \
  'keys=ret:x=ret:onmax($x).save' \
  'keys=ret:x=ret:onmax($x).save()' \
  'keys=ret:x=ret:onmax($x).save(x)' \
  'keys=ret:x=ret:onmax($x).save(nosuch)' \
  'keys=ret:x=ret:onmax($x).save(ret,)' \
  'keys=ret:x=ret:onmax($x).save($x)' \
  'keys=ret:x=ret:onmax($x).save(ret.percent)' \
  'keys=ret:x=ret:onmax($x).save(ret.stacktrace)' \
  'keys=ret:x=ret:onmax($x).save(ret):onmax($x).save(func)' \
  'keys=ret:x=ret:onmax($x).foo()' \
  'keys=ret:x=ret:onmax($x).foo(ret)' \
  'keys=ret:x=ret:onmax($x).trace(nosuch,$x)' \
  'keys=ret:x=ret:onmax($x.save(ret)' \
  'keys=ret:x=ret:onmax(x' \
  'keys=ret:x=ret:onmax($x).snapshot(' \
  'keys=ret:x=ret:onmax($x).save(5)' \
  'keys=ret:ret=ret:onmax($ret).save(ret)' \
  'keys=ret:x=ret:onmax($x).save(ret)=junk' \
  'keys=ret:onmax($hitcount).save(ret)'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
