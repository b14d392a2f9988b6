#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --json of hist, latency, sql, top, graph, replay and report, read by Python's json and compared
# with what the same command prints as text, or with what the program has counted itself.
#   json.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit
# agrees SENTENCE WHAT FILE… : json_judge.py finds the same in both.
agrees() { same "$1" "" "$(python3 "$here/json_judge.py" "${@:2}" 2>&1)"; }

# --- a recording of function_graph with arguments and events among the calls
"$patchbay" record -q -o g.dat -t function_graph -O funcgraph-args -l 'calls_*' \
  -e 'strcmp(string a)' -- "$programs/graph_calls" >own 2>err || fail "record: $(cat err)"
graph() { "$patchbay" graph -i g.dat "$@" 2>/dev/null; }
replay() { "$patchbay" replay -i g.dat "$@" 2>/dev/null; }
for options in "" "--flat" "--callers calls_leaf" "-D 2 -s calls" "--per-thread"; do
  # shellcheck disable=SC2086
  graph $options >text
  # shellcheck disable=SC2086
  graph $options --json >json
  agrees "graph $options" graph text json
done
graph calls_leaf >text
graph --json calls_leaf >json
agrees "graph FUNC" graph text json
check "its ways" \
  grep -q '"kind": "way".*\["calls_thread", "calls_middle", "calls_leaf"\], "calls"' json
for options in "" "--retval" "-F calls_middle" "-D 2" "-T 1us"; do
  # shellcheck disable=SC2086
  replay $options >text
  # shellcheck disable=SC2086
  replay $options --json >json
  agrees "replay $options" replay text json
done
check "a call has its arguments" grep -q '"call": "calls_leaf(n=[0-9]*)", "duration_ns": ' json
"$patchbay" report -i g.dat >text 2>/dev/null
"$patchbay" report -i g.dat --json >json 2>/dev/null
agrees "report: calls with all their arguments" report text json
"$patchbay" record -q -o args.dat -t function_graph -O funcgraph-args -l take_many -- \
  "$programs/call_arguments" >/dev/null 2>err || fail "record: $(cat err)"
same "report: all words of a call" "[1, 2, 3, 4, 5, 6]" \
  "$("$patchbay" report -i args.dat --json 2>/dev/null | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(next(row["fields"]["args"][:6] for row in rows if row["event"] == "funcgraph_entry"))')"

# --- hist: 1 load, 2 threads, 10 calls
for words in "keys=n sort=n" "keys=thread,n.buckets=5 vals=n.hex sort=thread,n" \
  "keys=name vals=n.quantiles" "keys=n.log2 vals=n,hitcount.percent"; do
  # shellcheck disable=SC2086
  "$patchbay" hist app:app_work $words -- "$programs/event_app" 1 2 10 >text
  # shellcheck disable=SC2086
  "$patchbay" hist --json -o json app:app_work $words -- "$programs/event_app" 1 2 10 >out
  agrees "hist $words" hist text json
done
check "CMD's output is its own" test "$(grep -c definition out)" = 0
if command -v sqlite3 >/dev/null; then
  "$patchbay" hist --json -o json 'sqlite3_prepare_v2(NULL, string sql)' keys=sql -- \
    sqlite3 :memory: $'select \'\e[31m"\',\n 2' >out
  same "hist: bytes of programs" $'select \'\e[31m"\',\n 2' "$(python3 -c '
import json; print(json.load(open("json"))["entries"][0]["keys"]["sql"])')"
  check "which are escaped" test "$(grep -c $'\e' json)" = 0
  "$patchbay" latency --json -o json 'sqlite3_prepare_v2(NULL, string sql, int n)' --by sql -- \
    sqlite3 :memory: 'select 1' 'select 2' >out
  agrees "latency" latency json 2
fi
"$patchbay" hist --json app:app_work keys=n nohitcount -- true 2>err
same "hist --json has hitcount" 2 $?

# --- sql: histograms as hist has them, rows as report has them
app() { "$patchbay" sql "$@" -- "$programs/event_app" 1 2 10; }
for items in "CAST(n AS BUCKETS=5)" "name, CAST(n AS _COUNTER_)" "CAST(n AS LOG2)"; do
  app "SELECT $items FROM app_work WHERE n < 8" -o text >out
  app --json -o json "SELECT $items FROM app_work WHERE n < 8" >out
  agrees "sql $items" hist text json
done
same "CMD's output is apart" 0 "$(grep -c '[{#]' out)"
join='SELECT a.n, b.n AS m FROM app_work a JOIN shared_event b ON a.common_pid = b.common_pid'
app --hist keys=n,m:sort=n,m -o text "$join" >out
app --json --hist keys=n,m:sort=n,m -o json "$join" >out
agrees "sql --hist" hist text json
app --json -o rows.dat "$join" >out 2>err
same "sql: as report has them" "$("$patchbay" report -i rows.dat --json 2>/dev/null)" \
  "$(grep '^{' out)"
same "sql: each thread's own pairs" "$(seq 0 9 | sed 'p' | xargs)" "$(grep '^{' out | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
pairs = {(row["pid"], row["fields"]["n"]) for row in rows
         if row["event"] == "query" and row["fields"]["n"] == row["fields"]["m"]}
print(*sorted(n for pid, n in pairs))')"
"$patchbay" sql --json -n "$join" -- true 2>err
same "sql -n finds nothing" 2 $?

# --- top
"$patchbay" top --once --json -o json -l 'calls_*' -- "$programs/graph_calls" >own 2>err
agrees "top" top own json
finish
