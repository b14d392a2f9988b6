# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# traceon and traceoff, with and without a count.
f=events/initcall/initcall_finish/trigger
w $f 'traceoff\n'
r $f
w $f 'traceoff\n'
w $f 'traceon\n'
w $f 'traceon:3\n'
w $f '!traceon\n'
r $f
w $f 'traceon:5\n'
r $f
w $f '!traceoff:5\n'
r $f
