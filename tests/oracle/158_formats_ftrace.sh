# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
for event in print raw_data function bputs bprint kernel_stack; do
  r events/ftrace/$event/format
done
r events/ftrace/print/id
r events/ftrace/function/id
