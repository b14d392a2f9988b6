# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# snapshot(): one of an instance.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$E" 'keys=ret:x=ret:onmax($x).snapshot()'
w snapshot '1'
w snapshot '0'
hist_add "$E" 'keys=func:y=ret:onmax($y).snapshot()'
hist_add "$S" 'keys=func:y=func:onchange($y).snapshot()'
mkdir instances/si
hist_add instances/si/$S 'keys=func:y=func:onchange($y).snapshot()'
hist_clean instances/si/$S
rmdir instances/si
hist_clean "$E"
hist_add "$S" 'keys=func:y=func:onchange($y).snapshot():clear'
hist_add "$S" 'keys=func:y=func:onchange($y).snapshot()'
w $S '!hist:keys=func:y=func:onchange($y).snapshot()\n'
hist_show "$S"
w snapshot '1'
w snapshot '0'
hist_try "$E" 'keys=ret:x=ret:onmax($x).snapshots()'
hist_try "$E" 'keys=ret:x=ret:onmax($x).snapshot():onmax($x).snapshot()'
hist_clean "$E"
w snapshot '1'
w snapshot '0'
