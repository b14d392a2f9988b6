# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A filter, as it is read back, and what is wrong with others.
f=events/initcall/initcall_finish/trigger
for filter in 'if ret == 1' '  if   ret == 1 || func > 3  ' 'if\tret == 1' \
  'if  COMM ~ "a*"' 'if CPU == 0' 'if COMM == "x"' 'if common_pid == 1'; do
  w $f "stacktrace $filter\n"
  w $f "traceoff:3 $filter\n"
  r $f
  w $f '!stacktrace\n'
  w $f '!traceoff\n'
done
r error_log
