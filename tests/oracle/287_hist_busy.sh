# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Nothing goes while others refer to it.
E=events/initcall/initcall_finish/trigger
S=events/initcall/initcall_start/trigger
hist_add "$S" 'keys=func:f=func'
hist_add "$S" 'keys=func,common_pid:g=func'
hist_add "$E" 'keys=func:x=$f'
hist_add "$E" 'keys=ret:y=$f+1'
w $S '!hist:keys=func:f=func\n'
w $S '!hist:keys=func,common_pid:g=func\n'
hist_show "$S"
w $E '!hist:keys=func:x=$f\n'
w $S '!hist:keys=func:f=func\n'
w $E '!hist:keys=ret:y=$f+1\n'
w $S '!hist:keys=func:f=func\n'
hist_show "$S"
hist_add "$S" 'keys=func:f=func:g=$f'
w $S '!hist:keys=func:f=func:g=$f\n'
hist_show "$S"
hist_show "$E"
