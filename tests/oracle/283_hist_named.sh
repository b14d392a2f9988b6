# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Histograms of one name share a definition, over events too.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$E" 'keys=func:name=foo:size=256'
hist_add "$E" 'keys=func:name=foo'
hist_add "$S" 'keys=func:name=foo'
hist_add "$S" 'name=foo:keys=func:size=4096 if common_pid > 1'
hist_add "$S" 'keys=func'
hist_add "$S" 'keys=func:name=foo:pause'
hist_show "$E"
w $E '!hist:keys=func:name=foo\n'
hist_show "$E"
hist_show "$S"
hist_add "$S" 'keys=func:name=foo:cont'
hist_add "$E" 'keys=func:name=foo'
w $S '!hist:keys=func\n'
w $S '!hist:keys=func:name=foo\n'
hist_show "$S"
w $S '!hist:keys=func:name=foo if common_pid > 1\n'
hist_show "$S"
hist_add "$S" 'keys=common_pid:name=bar:vals=hitcount'
hist_clean "$E" "$S"
hist_add "$S" 'keys=common_pid:name=foo'
hist_clean "$S"
