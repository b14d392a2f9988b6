# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Through dynamic_events: made, listed, removed one by one and all together.
: >error_log
w dynamic_events 's:one u64 a\n'
w dynamic_events 's:synthetic/two u64 a; char b[]\n'
w synthetic_events 'three int c\n'
r dynamic_events
r synthetic_events
w dynamic_events '-:two\n'
w dynamic_events '-:synthetic/one\n'
r dynamic_events
w dynamic_events '!s:three\n'
r dynamic_events
w dynamic_events 's:one u64 a\n'
w dynamic_events '!s:one u64 a\n'
w dynamic_events 's:one u64 a\n'
w dynamic_events '!one\n'
w dynamic_events '-:nosuch\n'
w dynamic_events '-:junk/one\n'
w dynamic_events '-one\n'
w dynamic_events 's one u64 a\n'
w dynamic_events 'x:foo u64 a\n'
w dynamic_events 's:\n'
w dynamic_events 's: u64 a\n'
w dynamic_events 's:one u64 a\n'
w dynamic_events 's:one\n'
w dynamic_events 's:junk/ev3 u64 a\n'
w dynamic_events 's:synthetic/ u64 a\n'
w dynamic_events 's:syn1/ev3 u64 a\n'
w dynamic_events '\n'
sed 's/^\[[^]]*\] //' error_log
t dynamic_events ''
r dynamic_events
r synthetic_events
: >error_log
