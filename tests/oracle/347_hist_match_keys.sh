# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# onmatch: the keys of both events, in number, order and kind.
P=events/ftrace/print/trigger
w synthetic_events 'aa u64 k; u64 g; u64 v\n'
w synthetic_events 'bb u64 k; u64 g; u32 s\n'
w synthetic_events 'out u64 v\n'
hist_fires aa a 1 2 10
hist_fires aa s 2 1 99
put $P 'hist:keys=common_type:bk=1,bg=2,bs=common_pid:onmatch(ftrace.print).bb($bk,$bg,$bs) if buf == "b"'
hist_show $P | grep -c bb
put events/synthetic/aa/trigger 'hist:keys=k,g:x=v'
for keys in k,g g,k k k,g,s s,g k.hex,g k.log2,g; do
  hist_try events/synthetic/bb/trigger "keys=$keys:onmatch(synthetic.aa).out(\$x)"
done
hist_try events/synthetic/bb/trigger 'keys=k,g:onmatch(synthetic.aa).out($x)'
put events/synthetic/out/trigger 'hist:keys=v:sort=v'
marks a s b
cat events/synthetic/out/hist
hist_clean events/synthetic/out/trigger events/synthetic/bb/trigger events/synthetic/aa/trigger "$P"
for one in aa bb out; do w synthetic_events "!$one\n"; done
