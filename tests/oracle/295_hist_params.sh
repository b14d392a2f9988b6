# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# What fits which field of a synthetic event.
G=events/signal/signal_generate/trigger
w synthetic_events 'n8 s8 a\n'
w synthetic_events 'n32 s32 a\n'
w synthetic_events 'u32f u32 a\n'
w synthetic_events 'n64 s64 a\n'
w synthetic_events 'u64f u64 a\n'
w synthetic_events 'lng long a\n'
w synthetic_events 'ulng unsigned long a\n'
w synthetic_events 'pidf pid_t a\n'
w synthetic_events 'intf int a\n'
w synthetic_events 'st16 char a[16]\n'
w synthetic_events 'st8 char a[8]\n'
w synthetic_events 'dyn char a[]\n'
w synthetic_events 'stk long[] a\n'
for what in sig comm common_cpu common_timestamp common_pid common_stacktrace '$x' '$t' '$c' \
  '$e' '$s' pid group; do
  for event in n8 n32 u32f n64 u64f lng ulng pidf intf st16 st8 dyn stk; do
    t $G "hist:keys=pid:x=pid:t=common_timestamp.usecs:c=comm:e=common_pid.execname:s=common_stacktrace:onmatch(signal.signal_generate).$event($what)\n" |
      sed -E "s/.*: ([A-Z0-9]*)\$/$event $what: \\1/"
  done
done
hist_clean "$G"
: >error_log
call o synthetic_events t
