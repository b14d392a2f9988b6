# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Sub-buffers are powers of two of pages.
for text in 4 3 5 8 16 32 64 128 512 513 0 -1 x; do
  w buffer_subbuf_size_kb "$text"
  r buffer_subbuf_size_kb
done
