# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Bases and bad tokens: all or nothing.
put set_event_pid 100
for text in 0x10 010 '1 x' x -1 '3 -1' +5 4000000000 99999999999999999999 1.5 '\n' ' 12 ' 13; do
  w set_event_pid "$text"
  r set_event_pid
done
