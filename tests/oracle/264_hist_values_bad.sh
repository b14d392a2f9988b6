# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Values that are refused.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:vals=nosuch' \
  'keys=ret:vals=ret.log2' \
  'keys=ret:vals=ret.sym' \
  'keys=ret:vals=ret.sym-offset' \
  'keys=ret:vals=ret.syscall' \
  'keys=ret:vals=ret.buckets=2' \
  'keys=ret:vals=ret.execname' \
  'keys=ret:vals=common_stacktrace' \
  'keys=ret:vals=ret.stacktrace' \
  'keys=ret:vals=ret,func,common_pid' \
  'keys=ret:vals=ret,ret,ret,hitcount' \
  'keys=ret:vals=hitcount,ret,func,common_pid' \
  'keys=ret:vals=ret,' \
  'keys=ret:vals=' \
  'keys=ret:nohitcount' \
  'keys=ret:nohitcount:vals=hitcount' \
  'keys=ret:NOHC' \
  'keys=ret:vals=stacktrace' \
  'keys=ret:vals=$x'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
