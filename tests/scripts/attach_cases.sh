#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs with one nasty property each, alone and while the agent comes and goes: the same output,
# exit status and answers of system calls, and nothing left behind (attach_cases.py).
#   attach_cases.sh BUILD_DIR [REGEX...]
# ATTACH_ROUNDS=1000 makes it a long run.
. "$(dirname "$0")/common.bash"
need python3
[[ -x $build/tests/attach/waits ]] || skip "the programs of tests/attach were not built"

# Does the harness see what a tool does that repairs nothing, or breaks something?
sees() {
  has "the harness sees a tool that breaks $2: $1" "$(CARELESS=$2 ATTACH_ROUNDS=3 \
    ATTACH_TOOL=$build/tests/attach/careless_tool \
    python3 "$here/attach_cases.py" "$build" "$work" "^$1\$" 2>&1)" "^FAIL .*$3"
}
sees 'waits epoll' waits 'printed .epoll_wait: EINTR'
sees 'waits recv-timeo' waits 'recv: EINTR'
sees 'waits read' mask 'SigBlk of thread'
sees 'waits read' text 'text of waits'
sees 'loops avx-read' vectors 'a vector register has changed'
sees 'waits read, stopped' waits 'attached, but it should be refused'

((failures == 0)) || finish
"$patchbay" attach --help >/dev/null 2>&1 || skip "this tool has no command attach"
check "all cases" timeout "${ATTACH_SECONDS:-600}" \
  python3 "$here/attach_cases.py" "$build" "$work" "$@"
finish
