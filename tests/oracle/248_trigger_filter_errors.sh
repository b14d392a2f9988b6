# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Errors of filters; error_log has them, and nothing is set.
f=events/initcall/initcall_finish/trigger
for filter in 'if' 'if ' 'iff ret == 1' 'ret == 1' 'if nosuch == 1' 'if ret == x' \
  'if (ret == 1' 'if ret == 1 &&' 'if COMM > 3' 'if 0' 'if 1' 'if  nosuch == 1'; do
  w $f "stacktrace $filter\n"
  w $f "traceoff:3 $filter\n"
done
r $f
r error_log
w $f 'traceoff:x if nosuch == 1\n'
w $f 'enable_event:sched:nosuch if nosuch == 1\n'
last 3 error_log
r events/initcall/initcall_finish/enable
