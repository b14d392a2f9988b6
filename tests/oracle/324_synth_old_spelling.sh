# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Fields without semicolons, blanks, and what stands behind the last field.
: >error_log
for line in 'wl u64 lat pid_t pid int prio' 'wl u64 lat; pid_t pid; int prio;' 'wl u64 lat;pid_t pid;' \
  '  wl   u64   lat  ' 'wl\tu64 lat' 'wl u64 lat ; int prio' 'wl u64 lat;; int prio' 'wl u64 lat char a[4]' \
  'wl char a[] u64 b' 'wl unsigned long a unsigned int b' 'wl u64 lat; int lat' 'wl u64 common_pid' \
  'wl u64 a # b' 'wl u64 _a; u64 A9'; do
  w synthetic_events "$line\n"
  r synthetic_events
  w synthetic_events '!wl junk\n'
done
sed 's/^\[[^]]*\] //' error_log
: >error_log
