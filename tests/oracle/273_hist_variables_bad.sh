# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Variables that are refused.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:x=nosuch' \
  'keys=ret:x=$nosuch' \
  'keys=ret:x=$' \
  'keys=ret:x=5a' \
  'keys=ret:x=08' \
  'keys=ret:x=18446744073709551616' \
  'keys=ret:x=ret,x=func' \
  'keys=ret:x=ret:x=func' \
  'keys=ret:x=ret,y' \
  'keys=ret:x=ret,' \
  'keys=ret:x=1=2' \
  'keys=ret:x=ret.log2' \
  'keys=ret:x=ret.buckets=4' \
  'keys=ret:x=ret.percent' \
  'keys=ret:x=ret.graph' \
  'keys=ret:x=ret.execname' \
  'keys=ret:x=ret.stacktrace' \
  'keys=ret:x=5:y=$x' \
  'keys=ret:x=$x' \
  'keys=ret:x=$y:y=ret:z=$q' \
  'keys=ret:x=a.b.$c' \
  'keys=ret:x=initcall.initcall_start.$x' \
  'keys=ret:x=a..ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
