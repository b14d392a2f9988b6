# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Names.
call mkdir 'instances/with blank'
call rmdir 'instances/with blank'
call mkdir instances/.hidden
call rmdir instances/.hidden
call mkdir instances/..
call mkdir instances/.
call mkdir instances/a.b-c_d
call rmdir instances/a.b-c_d
call mkdir instances/UPPER
call mkdir instances/upper
call rmdir instances/UPPER
call rmdir instances/upper
