# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# How many tasks are remembered.
for text in 0 1 128 1024 32768 32769 x; do
  w saved_cmdlines_size "$text"
done
