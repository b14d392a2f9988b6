# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Removal by the text; what is significant in it.
E=events/initcall/initcall_finish/trigger
for command in 'keys=ret' 'keys=func' 'keys=ret if ret == 1' 'keys=ret:x=ret' \
  'keys=func:pause:sort=func'; do
  hist_add "$E" "$command"
done
for command in 'keys=ret if ret == 2' 'keys=ret if ret == 1' 'keys=ret:size=128' 'keys=ret' \
  'keys=ret:x=func' 'keys=ret:x=ret' \
  'keys=func:sort=func.descending' 'keys=func:sort=func' 'keys=nosuch' 'keys=func:foo' '' 'keys=func:cont'; do
  w $E "!hist:$command\n"
  hist_show "$E"
done
w $E '!hist\n'
w $E '!histo:keys=ret\n'
w $E '! hist:keys=func\n'
w $E '!hist keys=func\n'
hist_show "$E"
