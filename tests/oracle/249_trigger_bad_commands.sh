# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What is no trigger.
f=events/initcall/initcall_finish/trigger
for text in '' ' ' '\n' '\t \n' '!' '!\n' nosuch '!nosuch' ':' 'Traceoff' 'traceof' 'traceoffs' \
  'traceoff stacktrace' 'traceoff\nstacktrace' '#traceoff' 'traceoff#' 'hist' '!hist' \
  '!hist:keys=ret' 'filter' '0' '1'; do
  w $f "$text"
  r $f
done
r error_log
