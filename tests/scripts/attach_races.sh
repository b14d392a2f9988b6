#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two commands of which one ends while the other comes, processes that end while a command works
# with them, numbers that are used again, and Ctrl-C at any moment (attach_races.py).
#   attach_races.sh BUILD_DIR [REGEX...]
# ATTACH_ROUNDS=100 makes it a long run, ATTACH_SEED repeats one.
. "$(dirname "$0")/common.bash"
need python3
check "all races" python3 "$here/attach_races.py" "$build" "$work" "$@"
finish
