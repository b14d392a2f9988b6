# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# It is for reading.
call o saved_cmdlines w
call o saved_tgids w
call o saved_cmdlines r
r saved_tgids
