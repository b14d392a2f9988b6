# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# What is refused, with entry and caret.
: >error_log
put synthetic_events 'ev u64 a'
for line in ev2 'ev2;' 'ev2 u64' 'ev2 foo a' 'ev2 unsigned a' 'ev2 unsigned short a' 'ev2 int a[4]' \
  'ev2 u64[] a' 'ev2 u64 1a' '1ev u64 a' 'e-v u64 a' 'ev2 u64 a-b' 's:ev2 u64 a' 'ev2 char str];[' \
  'ev2 char str; int' 'ev2 char str[; int v' 'ev2 char str;[]' 'ev2 char st-r[]' 'mye;vent u64 a' \
  '; u64 a' 'ev2; u64 a' 'ev2 ; u64 a' 'ev2 const char a' 'ev2 struct foo a' 'ev2 int *a' 'ev2 void *a' \
  'ev2 u64 a; foo b' 'ev2 __data_loc char[] a' 'ev u64 b' 'ev u64 a' '!nosuch' '!' '!ev2 u64 a' \
  'ev2 u64 a b' 'ev2 u64 a,' 'ev2 u64 a; u64 b c'; do
  w synthetic_events "$line\n"
done
sed 's/^\[[^]]*\] //' error_log
r synthetic_events
w synthetic_events '!ev\n'
w synthetic_events '!ev2\n'
