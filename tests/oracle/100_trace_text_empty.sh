# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The header of an empty trace.
r trace
r per_cpu/cpu0/trace
