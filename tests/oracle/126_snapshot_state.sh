# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# tracing_on stays as it was.
w tracing_on 0
w snapshot 1
r tracing_on
w tracing_on 1
w snapshot 1
r tracing_on
