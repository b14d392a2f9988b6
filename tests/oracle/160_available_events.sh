# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One line an event.
ours '^(raw_syscalls|signal|initcall):' available_events
call o available_events t
