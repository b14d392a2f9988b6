# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Sizes are rounded up to powers of two.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:size=128' \
  'keys=ret:size=65' \
  'keys=ret:size=129' \
  'keys=ret:size=1000' \
  'keys=ret:size=131072' \
  'keys=ret:size=100000' \
  'keys=ret:size=0x100' \
  'keys=ret:size=0400' \
  'keys=ret:size=+256' \
  'keys=ret:size=64' \
  'keys=ret:size=0' \
  'keys=ret:size=131073' \
  'keys=ret:size=-1' \
  'keys=ret:size=5a' \
  'keys=ret:size= 256' \
  'keys=ret:size=' \
  'keys=ret:size=256:size=512' \
  'keys=ret:size=99999999999999999999'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
