# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# fresh
# Setting the size counts as a use.
w buffer_size_kb '2000\n'
r buffer_size_kb
