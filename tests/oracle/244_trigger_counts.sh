# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Forms of a count.
f=events/initcall/initcall_finish/trigger
for count in :1 :0 :01 :010 :0x10 :0X1f :+3 : ' 3' ':3 ' ': 3' :3:4 :3: ::3 :-1 :3x :0x :08 :x \
  :18446744073709551614 :18446744073709551615 :18446744073709551616; do
  w $f "traceoff$count\n"
  r $f
  w $f '!traceoff\n'
done
