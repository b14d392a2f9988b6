# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmax and onchange save what the event had; all kinds of fields.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 kk; u64 vv\n'
hist_fires aa a 1 10
hist_fires aa b 1 20
hist_fires aa c 2 20
hist_fires aa d 2 5
hist_fires aa z 3 0
put events/synthetic/aa/trigger 'hist:keys=kk:mx=vv:onmax($mx).save(vv,kk,common_type,common_flags):sort=kk'
put events/synthetic/aa/trigger 'hist:keys=kk:cc=vv+1:onchange($cc).save(vv):onmax($cc).save(kk):sort=kk'
put events/synthetic/aa/trigger 'hist:keys=kk:dd=vv:onchange($dd).save(vv,vv):sort=kk'
hist_show events/synthetic/aa/trigger | sed 's/common_type/T/'
marks a b a c d z z d
sed 's/common_type: *[0-9]*/common_type: N/' events/synthetic/aa/hist
put events/synthetic/aa/trigger 'hist:keys=kk:dd=vv:onchange($dd).save(vv,vv):sort=kk:clear'
marks a
sed 's/common_type: *[0-9]*/common_type: N/' events/synthetic/aa/hist
hist_clean events/synthetic/aa/trigger "$P"
w synthetic_events '!aa\n'
