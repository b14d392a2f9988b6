# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Fields that hold stacks.
: >error_log
for fields in 'long[] st' 'long st[]' 'unsigned long[] st' 'unsigned long st[]' 'u64 a; long[] st; int b' \
  'int[] st' 'long[4] st' 'u64 st[]' 's64[] st' 'long [] st'; do
  w synthetic_events "ss $fields\n"
  r synthetic_events
  [ -e events/synthetic/ss/format ] && grep -v '^ID' events/synthetic/ss/format
  w synthetic_events '!ss\n'
done
sed 's/^\[[^]]*\] //' error_log
: >error_log
