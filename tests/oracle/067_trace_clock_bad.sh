# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What is no clock.
for text in nosuch '\n' 'mono x' 'loc' ' mono' 'mono ' 'mono\n\n' MONO '[local]'; do
  w trace_clock "$text"
done
r trace_clock
call fill trace_clock 63
call fill trace_clock 64
