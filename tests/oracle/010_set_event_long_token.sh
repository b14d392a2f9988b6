# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A token may have 127 characters.
for length in 125 126 127 128 129 200; do
  call fill set_event $length
done
