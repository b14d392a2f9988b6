# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Files are neither made nor removed nor renamed.
mkdir instances/one
call o new c
call o instances/new c
call o instances/one/new c
call o events/new c
call unlink trace
call unlink instances/one
call unlink instances/one/trace
call unlink nosuch
call rename trace trace2
call rename instances/one instances/two
call rename instances/nosuch instances/two
call rmdir instances/one
