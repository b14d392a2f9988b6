# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Keys: numbers, generic fields, old spellings, how many.
: >error_log
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret' \
  'keys=func,ret' \
  'keys=func,ret,common_pid' \
  'keys=func,ret,common_pid,common_cpu' \
  'keys=common_cpu' \
  'keys=cpu' \
  'keys=CPU,ret' \
  'keys=common_stacktrace' \
  'keys=stacktrace' \
  'keys=STACKTRACE,ret' \
  'keys=common_timestamp' \
  'keys=common_type,common_flags,common_preempt_count' \
  'keys=hitcount' \
  'keys=ret,ret,ret' \
  'keys=comm' \
  'keys=COMM' \
  'keys=common_comm' \
  'keys=nosuch' \
  'keys=ret,' \
  'keys=,ret' \
  'keys=ret ,func' \
  'keys= ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
