# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# A name is one name in all instances.
E=events/initcall/initcall_finish/trigger
mkdir instances/hi
hist_add instances/hi/$E 'keys=ret:name=foo'
hist_add "$E" 'keys=func:name=foo'
hist_add "$E" 'keys=ret:name=foo:size=256'
hist_show instances/hi/$E
hist_clean instances/hi/$E
rmdir instances/hi 2>/dev/null || echo busy
hist_add "$E" 'keys=ret:name=foo if ret == 1'
hist_clean "$E"
hist_add "$E" 'keys=func:name=foo'
hist_clean "$E"
