# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Modifiers that keys do not take, and what is none.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret.foo' \
  'keys=ret.' \
  'keys=ret.HEX' \
  'keys=ret.percent' \
  'keys=ret.graph' \
  'keys=ret.percentage' \
  'keys=ret.execname' \
  'keys=common_cpu.execname' \
  'keys=ret.buckets' \
  'keys=ret.buckets=' \
  'keys=ret.buckets=0' \
  'keys=ret.buckets=x' \
  'keys=ret.bucketsx=3' \
  'keys=ret.buckets=-3' \
  'keys=ret.stacktrace' \
  'keys=common_stacktrace.stacktrace' \
  'keys=cpu.stacktrace' \
  'keys=nosuch.stacktrace' \
  'keys=ret,ret.stacktrace' \
  'keys=nosuch.hex' \
  'keys=nosuch.foo' \
  'keys=ret.hex.sym' \
  'keys=ret.symXoffset'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
