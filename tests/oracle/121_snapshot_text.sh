# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The help, freed and allocated.
r snapshot
w snapshot 1
r snapshot
w snapshot 0
r snapshot
