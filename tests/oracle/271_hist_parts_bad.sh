# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# What is no part of a definition: mostly refused without an entry.
E=events/initcall/initcall_finish/trigger
for command in \
  '' \
  'vals=ret' \
  'keys' \
  'keys=' \
  'keys=ret:' \
  'keys=ret::vals=ret' \
  ':keys=ret' \
  'keys=ret:x' \
  'keys=ret:foo' \
  'keys=ret:Pause' \
  'keys=ret:pausee' \
  'keys=ret:onfoo($x).save(ret)' \
  'keys=ret:onmax' \
  'keys=ret:onmax(' \
  'keys=ret:=ret' \
  'keys=ret:x=' \
  'keys=ret:name=' \
  'keys=ret:clock=' \
  'keys=ret:vals' \
  'keys=ret:=' \
  'keys ret'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
