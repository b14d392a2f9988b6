# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmax and onchange fire synthetic events, which have histograms that fire others.
P=events/ftrace/print/trigger
for one in aa max chg end; do w synthetic_events "$one u64 kk; u64 vv\n"; done
hist_fires aa a 1 10
hist_fires aa b 1 20
hist_fires aa c 2 20
hist_fires aa d 1 5
put events/synthetic/aa/trigger 'hist:keys=kk:mx=vv:onmax($mx).max(kk,$mx)'
put events/synthetic/aa/trigger 'hist:keys=kk:cc=vv:onchange($cc).trace(chg,kk,$cc)'
put events/synthetic/max/trigger 'hist:keys=kk:nn=vv*2:onchange($nn).end(kk,$nn)'
put events/synthetic/max/trigger 'hist:keys=vv:sort=vv'
put events/synthetic/chg/trigger 'hist:keys=kk,vv:sort=kk,vv'
put events/synthetic/end/trigger 'hist:keys=kk,vv:sort=vv'
hist_show events/synthetic/aa/trigger
marks a a b d c d b d
for one in max chg end; do cat events/synthetic/$one/hist; done
for one in aa max chg end; do hist_clean events/synthetic/$one/trigger; done
hist_clean "$P"
for one in aa max chg end; do w synthetic_events "!$one\n"; done
