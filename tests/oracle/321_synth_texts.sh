# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Texts: static ones of each size, dynamic ones, in every way to write them.
: >error_log
for fields in 'char a[1]' 'char a[16]' 'char a[256]' 'char a[0]' 'char[16] a' 'char[] a' 'char a[]' \
  'char a[257]' 'char a[-1]' 'char a[016]' 'char a[0x10]' 'char a[ 4 ]' 'char a [4]' 'char a[4' \
  'char a]' 'char a[4]b' 'char[4] a[4]' 'char *a' 'unsigned char a[4]' 's8 a[4]'; do
  w synthetic_events "tx $fields\n"
  r synthetic_events
  [ -e events/synthetic/tx/format ] && grep -v '^ID' events/synthetic/tx/format
  w synthetic_events '!tx\n'
done
sed 's/^\[[^]]*\] //' error_log
: >error_log
