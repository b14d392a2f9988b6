# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Every type, as it is listed and in the format file.
n=0
for type in s8 u8 s16 u16 s32 u32 s64 u64 char int long bool pid_t gfp_t 'unsigned char' \
  'unsigned int' 'unsigned long' 'unsigned' short 'unsigned short' size_t float 'long long' 'long int'; do
  n=$((n + 1))
  w synthetic_events "ty$n $type a\n"
done
r synthetic_events
for event in events/synthetic/ty*; do
  [ -e $event/format ] && grep -v '^ID' $event/format
done
: >synthetic_events
r synthetic_events
