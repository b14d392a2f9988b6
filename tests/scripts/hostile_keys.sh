#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Texts of a traced program that look like tables, JSON and metrics are keys and nothing else: hist,
# latency, several processes and the page that Prometheus scrapes have each as often as it was
# there, and nothing that was not.
#   hostile_keys.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$here/serve_common.bash"
need python3 curl
cd "$work" || exit 1
program=$programs/hostile_keys
count='take(string/n s, u64 n)'
judged() { python3 "$here/hostile_keys_judge.py" "$@"; }

# --- one process: all of the above, and 10,000 random ones
for form in text json; do
  option=()
  [[ $form == json ]] && option=(--json)
  "$patchbay" hist "$count" keys=s size=16384 "${option[@]}" -o table -- "$program" 10000 7 \
    </dev/null >said 2>err
  same "hist, $form" "" "$(judged $form said table 2>&1)$(cat err)"
done
"$patchbay" latency "$count" --by s --json -o table -- "$program" </dev/null >said 2>err
same "latency --by" "" "$(judged latency said table 2>&1)$(cat err)"
"$patchbay" latency "$count" --by s -o table -- "$program" </dev/null >said 2>err
same "latency --by, as text: a line for each" "$(grep -c ' [0-9]' said)" \
  "$(grep -c ' times, ' table)"
"$patchbay" sql -e "$count" 'SELECT s FROM take' --json -o table -- "$program" </dev/null \
  >said 2>err
same "sql" "" "$(judged json said table 2>&1)$(cat err)"

# --- two processes, and the page
pids=()
for i in 1 2; do
  mkfifo in.$i
  PATCHBAY_FUNCTION_EVENTS=$count LD_PRELOAD=$agent "$program" 100 $i <in.$i >said.$i &
  pids+=($!)
  started $!
  exec {fd}>in.$i
  fds+=("$fd")
  wait_for 30 "$patchbay" write "${pids[-1]}" events/functions/take/trigger hist:keys=s ||
    fail "no histogram in program $i"
done
"$patchbay" hist "$count" keys=s --json -p "${pids[0]},${pids[1]}" >table 2>err &
tool=$!
started $tool
counting() {
  [[ $("$patchbay" cat "$1" "instances/patchbay-$tool-1/events/functions/take/trigger") == *hist* ]]
}
for pid in "${pids[@]}"; do wait_for 60 counting "$pid" || fail "hist does not count in $pid"; done
for i in 0 1; do echo go >&"${fds[i]}"; done
for i in 1 2; do wait_for 60 grep -q ^done said.$i || fail "program $i does not end its calls"; done
kill -INT $tool
wait $tool
cat said.1 said.2 >said
same "two processes" "" "$(judged json said table 2>&1)$(cat err)"
start_serve
all_looked_at() { [[ $(scrape | sum patchbay_serve_agents) == 2 ]]; }
check "the agents are found" wait_for 30 all_looked_at
scrape >page
for i in 1 2; do
  same "the page, process $i" "" "$(judged page said.$i page "pid=${pids[i - 1]}" 2>&1)"
done
if command -v promtool >/dev/null; then
  promtool check metrics <page >lint 2>&1
  same "promtool reads it" "" "$(grep -i 'error' lint)"
fi
kill $serve
finish
