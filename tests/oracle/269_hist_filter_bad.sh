# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Filters that are refused, and where a filter cannot be.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret if' \
  'keys=ret if x' \
  'keys=ret if nosuch == 1' \
  'keys=ret if ret ==' \
  'keys=ret if ret == 1 &&' \
  'keys=ret if ret == "a"' \
  'keys=nosuch if ret == 1' \
  'keys=ret:sort=foo if nosuch == 1' \
  'keys=ret ifret == 1' \
  'keys=ret iff ret == 1' \
  'if ret == 1' \
  'keys=ret if ret == 1 if ret == 2' \
  'keys=ret:clear if nosuch == 1'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
