# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# A new instance starts with the options of the top.
put options/sym-offset 1
put options/overwrite 0
mkdir instances/one
r instances/one/options/sym-offset
r instances/one/options/overwrite
put instances/one/options/sym-offset 0
r options/sym-offset
r instances/one/trace_options | grep -v -e test_nop -e display-graph -e func
call o instances/one/options/trace_printk r
call o instances/one/options/record-cmd r
call o instances/one/options/printk-msg-only r
call o instances/one/options/markers r
