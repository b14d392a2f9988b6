# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Filters behind the word if, as they are read back.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret if ret == 1' \
  'keys=ret if ret==1&&common_pid > 1' \
  'keys=ret  if ret == 1' \
  'keys=ret	if	ret == 1' \
  'keys=ret if  ret == 1' \
  'keys=ret if ret == 1  ' \
  'keys=ret if COMM ~ "a*"' \
  'keys=ret if CPU == 0' \
  'keys=ret:vals=func:sort=ret if ret > 3' \
  'keys=ret if (ret == 1)' \
  'keys=ret if 0'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
