# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The list, without what belongs to a tracer or to the functions of a kernel.
r trace_options | grep -v -e test_nop -e display-graph -e func
