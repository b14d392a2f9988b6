# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The same rules for numbers in every file of numbers.
for file in tracing_on buffer_percent saved_cmdlines_size tracing_thresh options/markers; do
  for text in +1 01 1x ' 1' '1\n\n' 99999999999999999999; do
    w $file "$text"
  done
done
