#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Children that are forked by a process with the agent in it, or with one that is asleep, are
# attached to, recorded and left like any other process (attach_forked.py).
#   attach_forked.sh BUILD_DIR [REGEX...]
. "$(dirname "$0")/common.bash"
need python3
[[ -x $build/tests/attach/forks ]] || skip "the programs of tests/attach were not built"
check "all stories" timeout "${ATTACH_SECONDS:-300}" \
  python3 "$here/attach_forked.py" "$build" "$work" "$@"
finish
