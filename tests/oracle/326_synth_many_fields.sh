# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# As many fields as there may be, and one more.
: >error_log
list() { i=1; while [ $i -le $1 ]; do printf 'u64 f%d; ' $i; i=$((i + 1)); done; }
w synthetic_events "many $(list 64)\n"
r synthetic_events | tr ';' '\n' | wc -l
grep -c 'field:u64 f' events/synthetic/many/format
tail -n 1 events/synthetic/many/format | cut -c1-80
w synthetic_events '!many\n'
w synthetic_events "many $(list 65)\n"
r synthetic_events
sed 's/^\[[^]]*\] //' error_log | cut -c1-120
w synthetic_events "$(printf 'n%.0s' 1 2 3 4 5 6 7 8 9)$(list 3)\n"
: >synthetic_events
: >error_log
