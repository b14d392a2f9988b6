#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent's thread is out of the way where the program needs to have one thread, or where libc
# would end it because our thread may do less than its own: the answers are the same as alone, each
# call is recorded, clients stay connected, and no descriptor and no blocked signal is left.
#   thread_aside.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$programs/thread_aside
cd "$work" || exit
for what in children keep lose unshare join often; do
  plain=$("$program" $what)
  same "$what: output and answers" "$plain" \
    "$("$patchbay" record -q -o t.dat -e 'traced(int n)' -- "$program" $what 2>err)"
  same "$what: nothing on stderr" "" "$(cat err)"
  wanted=$(grep -cE ': (ok|[A-Z].*|status [0-9]+)$' <<<"$plain")
  same "$what: each call of traced()" "$wanted" "$(count_of t.dat traced)"
done
if ((EUID == 0)); then
  same "unshare -r" "0" "$("$patchbay" record -q -o t.dat -e "getuid()" -- unshare -r id -u)"
  same "setpriv" "65534" "$("$patchbay" record -q -o t.dat -e "getuid()" -- \
    setpriv --reuid 65534 --regid 65534 --clear-groups id -u)"
fi

# Clients, while our thread comes and goes.
mkfifo told
LD_PRELOAD=$agent "$program" "until told" <>told >out 2>&1 &
pid=$!
started "$pid"
agent_answers() { "$patchbay" cat "$pid" tracing_on >/dev/null 2>&1; }
wait_for 60 agent_answers
failures_of_cat=0 answers=0
echo 'traced(int n)' | "$patchbay" write "$pid" function_events
echo 1 | "$patchbay" write "$pid" events/functions/traced/enable
for ((i = 0; i < 50; i++)); do
  said=$("$patchbay" cat "$pid" events/functions/traced/enable 2>>cat.err) &&
    answers=$((answers + 1))
  [[ $said == 1 ]] || failures_of_cat=$((failures_of_cat + 1))
done
same "each look had its answer" "50 0" "$answers $failures_of_cat"
same "and no complaint" "" "$(cat cat.err)"
"$patchbay" cat "$pid" trace_pipe >piped 2>pipe.err &
reader=$!
wait_for 60 test -s piped
seen=$(wc -l <piped)
more_than_seen() { (($(wc -l <piped) > seen + 1000)); }
wait_for 60 more_than_seen
echo x >told
wait "$pid"
same "it ends as ever" 0 $?
wait "$reader"
same "a reader that stays connected ends with it" 0 $?
has "its descriptors and signals" "$(cat out)" 'the same signals are blocked: ok'
same "its descriptors" "$(sed -n '/^descriptors/p' <<<"$plain")" "$(sed -n '/^descriptors/p' out)"
finish
