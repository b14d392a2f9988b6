# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Constants are folded; the listing shows the result.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:x=1+2' \
  'keys=ret:x=16-8-4-2' \
  'keys=ret:x=64/8/4/2' \
  'keys=ret:x=2*3*4' \
  'keys=ret:x=1-2' \
  'keys=ret:x=2*3+ret' \
  'keys=ret:x=ret+2*3' \
  'keys=ret:x=2+3*4' \
  'keys=ret:x=2*3+4*5' \
  'keys=ret:x=8/2' \
  'keys=ret:x=0x10+010' \
  'keys=ret:vals=2+3' \
  'keys=5' \
  'keys=2*3' \
  'keys=ret:x=1,y=2:z=3+4' \
  'keys=ret:vals=5,6' \
  'keys=ret:x=0/5' \
  'keys=ret:x=18446744073709551615+1'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
