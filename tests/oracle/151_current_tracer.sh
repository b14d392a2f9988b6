# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The nop tracer.
r current_tracer
w current_tracer 'nop\n'
w current_tracer nop
w current_tracer ' nop'
w current_tracer 'nop  \n'
w current_tracer nosuch
call fill current_tracer 99
call fill current_tracer 101
call fill current_tracer 200
r current_tracer
mkdir instances/one
r instances/one/current_tracer
