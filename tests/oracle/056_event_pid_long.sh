# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Tokens have at most 127 characters.
for length in 126 127 128 200; do
  call fill set_event_pid $length 1
done
call fill set_event_pid 20 0
r set_event_pid
