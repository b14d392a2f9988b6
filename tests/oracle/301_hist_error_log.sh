# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Eight entries; several of one command.
E=events/initcall/initcall_finish/trigger
for i in 1 2 3 4 5; do
  w $E "hist:keys=nosuch$i:x=\$y$i\n"
  w $E "hist:keys=ret:x=\$y$i\n"
done
r error_log
w $E 'hist:keys=ret:vals=nosuch\n'
w $E 'hist:keys=ret\n'
last 6 error_log
w $E '!hist:keys=nosuch\n'
last 3 error_log
: >error_log
r error_log
hist_clean "$E"
