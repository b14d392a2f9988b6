#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing is lost silently by a change: filters, lists of tasks and triggers of enabled events are
# written over and over while threads hit them. Records and counted losses together are the hits.
#
#   api_changes.sh BUILD_DIR [THREADS [ROUNDS]]
. "$(dirname "$0")/common.bash"
program=$programs/api_changes
[[ -x $program ]] || skip "no $program"
same "every hit is recorded or counted" ok "$("$program" "${1:-8}" "${2:-300}" 2>"$work/err")"
has "and there were many" "$(cat "$work/err")" '^[0-9]{5,} hits'
finish
