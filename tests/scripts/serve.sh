#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay serve: programs with known counts, scraped in each form: sums exact, native buckets equal
# to classic ones; half of them killed, histograms cleared, a program started anew: no counter goes
# back; the counts of a process that has ended are shown once more.
. "$(dirname "$0")/common.bash"
. "$here/serve_common.bash"
need curl python3 protoc
nr=6 calls=0 total_n=0
for ((i = 0; i < nr; i++)); do
  start_counted $((1000 * (i + 1)))
  calls=$((calls + 1000 * (i + 1)))
  n=$((1000 * (i + 1)))
  total_n=$((total_n + n * (n - 1) / 2))
done
for pid in "${pids[@]}"; do
  ready "$pid"
  hist "$pid" hist:keys=common_type
  hist "$pid" hist:keys=n.log2:vals=n
  hist "$pid" hist:keys=common_type:vals=n.counters
done
start_serve
check "all agents are found" wait_for 30 agents_are $nr
run_counted 0 1 2 3 4 5
hits=patchbay_functions_work_hits_total
log2=patchbay_functions_work_n_log2
ranges=patchbay_functions_work_n
sleep 0.6 # looks are shared for 500 ms
scrape >"$work/one"
same "hits" "$calls" "$(sum $hits <"$work/one")"
same "the count of the ranges of .log2" "$calls" "$(sum ${log2}_count <"$work/one")"
same "their sum" "$total_n" "$(sum ${log2}_sum <"$work/one")"
same "their last bound" "$calls" "$(sum ${log2}_bucket le=+Inf <"$work/one")"
# n up to 512: in each process 0 … 512, which are 513.
same "a bound of .log2" $((nr * 513)) "$(sum ${log2}_bucket le=512.0 <"$work/one")"
same "the count of .counters" "$calls" "$(sum ${ranges}_count <"$work/one")"
same "its sum" "$total_n" "$(sum ${ranges}_sum <"$work/one")"
same "a bound of .counters" $((nr * 512)) "$(sum ${ranges}_bucket le=511.0 <"$work/one")"
same "each process alone" 3000 "$(sum $hits "pid=${pids[2]}" <"$work/one")"
same "the program's name" "$calls" "$(sum $hits exe=counted <"$work/one")"
same "recorded nothing" 0 "$(sum patchbay_events_dropped_total <"$work/one")"

scrape -H 'Accept: application/openmetrics-text; version=1.0.0' >"$work/open"
same "OpenMetrics by its rules" "" "$(python3 "$judge" open <"$work/open")"
same "OpenMetrics has the same hits" "$calls" "$(sum $hits <"$work/open")"
family='application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily'
scrape -D "$work/head" -H "Accept: $family;encoding=delimited;q=1,text/plain;q=0.5" >"$work/proto"
has "it is called protobuf" "$(cat "$work/head")" 'application/vnd.google.protobuf'
python3 "$judge" proto "$here/serve_metrics.proto" <"$work/proto" >"$work/decoded"
same "native buckets have what classic ones have" "# $((2 * nr)) histograms" \
  "$(tail -n 1 "$work/decoded")"
has "native buckets of .log2" "$(cat "$work/decoded")" 'schema: 0'
has "native buckets of .counters" "$(cat "$work/decoded")" 'schema: 3'
has "a counter" "$(cat "$work/decoded")" 'name: "patchbay_functions_work_hits_total"'

# Half of them are killed. Their counts are there once more.
kill -9 "${pids[0]}" "${pids[1]}" "${pids[2]}"
wait "${pids[0]}" "${pids[1]}" "${pids[2]}" 2>/dev/null
is_over() { ! kill -0 "$1" 2>/dev/null; }
for i in 0 1 2; do wait_for 30 is_over "${pids[i]}"; done
sleep 0.6
scrape >"$work/two"
same "the hits of those that were killed are shown once more" "$calls" "$(sum $hits <"$work/two")"
same "and that they have ended" 3 "$(sum patchbay_agent_up <"$work/two")"
same "no counter goes back" "" "$(python3 "$judge" back "$work/one" "$work/two")"
sleep 0.6
scrape >"$work/three"
same "then their series end" $((calls - 6000)) "$(sum $hits <"$work/three")"
# A histogram is cleared.
"$patchbay" write "${pids[3]}" events/functions/work/trigger hist:keys=common_type:clear
"$patchbay" write "${pids[4]}" events/functions/work/trigger '!hist:keys=common_type'
sleep 0.6
scrape >"$work/four"
same "what was cleared stays" 4000 "$(sum $hits "pid=${pids[3]}" <"$work/four")"
same "no counter goes back" "" "$(python3 "$judge" back "$work/three" "$work/four")"
# It comes back, with nothing in it; another program starts.
hist "${pids[4]}" hist:keys=common_type
start_counted 500
ready "${pids[6]}"
hist "${pids[6]}" hist:keys=common_type
run_counted 6
came_back() { [[ $(scrape | sum $hits "pid=${pids[4]}") == 5000 ]]; }
check "a histogram that was removed and made goes on" wait_for 30 came_back
scrape >"$work/five"
same "no counter goes back" "" "$(python3 "$judge" back "$work/four" "$work/five")"
newcomer() { [[ $(scrape | sum $hits "pid=${pids[6]}") == 500 ]]; }
check "a program that came later" wait_for 30 newcomer

# A program that ends by itself leaves its last counts; serve ends when it is told to.
kill "$serve"
wait "$serve"
same "serve ends well" 0 $?
check "its state goes with it" test ! -e "$PATCHBAY_DIR/serve.json"

# The largest keys get series, the rest is in one.
start_serve --most-keys 100
hist "${pids[5]}" 'hist:keys=n:size=16384'
start_counted 3000
ready "${pids[7]}"
hist "${pids[7]}" 'hist:keys=n:size=16384'
run_counted 7
bounded() { [[ $(scrape | sum $hits "pid=${pids[7]}" 'hist=keys=n') == 3000 ]]; }
check "all hits are there" wait_for 30 bounded
scrape >"$work/many"
same "100 keys and the others" 101 \
  "$(python3 "$judge" count $hits "pid=${pids[7]}" 'hist=keys=n' <"$work/many")"
same "the others" 2900 "$(sum $hits "pid=${pids[7]}" other=true <"$work/many")"
same "the bound is shown" 100 "$(sum patchbay_serve_most_keys <"$work/many")"
# A field with a sign, as a sum and as a histogram: no name is there twice.
hist "${pids[7]}" 'hist:keys=n.log2:vals=common_pid'
hist "${pids[7]}" 'hist:keys=common_type:vals=common_pid'
hist "${pids[7]}" 'hist:keys=common_type:vals=common_pid,common_pid.counters'
if command -v promtool >/dev/null; then
  lint=$(scrape | promtool check metrics 2>&1 | grep -v 'abbreviated units\|^$')
  same "promtool finds nothing" "" "$lint"
fi
finish
