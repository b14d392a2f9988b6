# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The session of the document, with the word quoted.
f=events/signal/signal_generate/filter
w $f '((sig >= 10 && sig < 15) || sig == 17) && comm != "bash"\n'
r $f
w $f '((sig >= 10 && sig < 15) || dsig == 17) && comm != "bash"\n'
r $f
last 3 error_log
w $f '0\n'
r $f
