# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# One of a kind; the newest stands on top.
f=events/initcall/initcall_finish/trigger
for trigger in traceoff stacktrace:5 snapshot traceon stacktrace snapshot:3 traceoff:2; do
  w $f "$trigger\n"
done
r $f
w $f '!snapshot:7 if nonsense\n'
r $f
w $f 'snapshot:2\n'
r $f
for trigger in traceon stacktrace snapshot; do w $f "!$trigger\n"; done
r $f
