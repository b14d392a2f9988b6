# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# An instance has its own.
mkdir instances/one
w instances/one/set_event_pid '11\n'
w set_event_pid '22\n'
r instances/one/set_event_pid
r set_event_pid
