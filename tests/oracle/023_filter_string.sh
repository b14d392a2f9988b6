# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Strings of both kinds of quotes, with all their operators.
f=events/sched/sched_switch/filter
for text in 'prev_comm == "sh"' "prev_comm == 'sh'" 'prev_comm != "sh"' 'prev_comm ~ "sh*"' \
  'prev_comm ~ "*sh"' 'prev_comm ~ "*sh*"' 'prev_comm ~ "ba*sh"' 'prev_comm ~ "s?"' \
  'prev_comm ~ "[a-z]h"' 'prev_comm ~ "!sh*"' "prev_comm == 'a\"b'" 'prev_comm == ""' \
  'prev_comm=="sh"' 'prev_comm ~"s*"' 'prev_comm == "a b && c"' 'prev_comm == "(x"' \
  'comm == "sh"' 'COMM == "sh"'; do
  w $f "$text\n"
  r $f
done
r error_log
