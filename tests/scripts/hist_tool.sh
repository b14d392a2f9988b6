#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay hist, latency and sql: tables of programs that are run, of running processes, of sqlite3
# and of redis-server; what they leave behind; mistakes.
#   hist_tool.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
cd "$work" || exit
program=$programs/event_app

# --- hist: 1 load, 2 threads, 10 calls: each thread has n from 0 to 4 twice, from 5 to 9 once
table=$("$patchbay" hist app:app_work keys=n sort=n -- "$program" 1 2 10 2>err)
same "hist: the program's status" 0 $?
same "hist: nothing is lost at the end" "" "$(cat err)"
expected=$(for n in 0 1 2 3 4 5 6 7 8 9; do
  printf '{ n: %10d } hitcount: %10d\n' $n $((n < 5 ? 4 : 2))
done)
same "hist: every hit" "$expected" "$(grep '^{' <<<"$table")"
has "hist: its definition" "$table" \
  '^# trigger info: hist:keys=n:vals=hitcount:sort=n:size=2048 \[active\]$'
has "hist: totals" "$table" '^    Hits: 30$'
table=$("$patchbay" hist app:app_work keys=thread,n.buckets=5 vals=n.hex sort=thread,n \
  if 'n > 2' -- \
  "$program" 1 2 10)
has "hist: keys, values, filter" "$table" \
  '^\{ thread: +1, n: ~ 5-9 \} hitcount: +5  n: +23$'
same "hist: a filter" 18 "$(sed -n 's/^    Hits: //p' <<<"$table")"
table=$("$patchbay" hist app:app_work keys=name vals=n.quantiles -- "$program" 1 1 10)
has "hist: a text and quantiles" "$table" \
  '^\{ name: worker {44} \} hitcount: +15  n.p50: +3  n.p90: +8  n.p99: +9  n.p99.9: +9  n.max: +9$'
# What is saved belongs to the hit that has set the maximum, whoever was preempted where.
for round in 1 2 3 4 5 6 7 8; do
  saved=$("$patchbay" hist race:save keys=common_type mm=val 'onmax($mm).save(val,id)' \
    -- "$programs/save_race" | grep max: | tr -s ' ')
  has "hist: onmax().save() under 8 threads, round $round" "$saved" \
    'max: 59997 val: 59997 id: 19999'
done
"$patchbay" hist -v app:app_work keys=n -- "$program" 1 1 2 >out 2>err
has "hist -v" "$(cat err)" "^echo 'hist:keys=n' >> events/app/app_work/trigger$"
"$patchbay" hist app:app_work keys=n -- sh -c "$program 1 1 2 >/dev/null; exit 7" >out 2>err
check "hist: a program without the event is an error" test $? -ne 0
has "hist: which says so" "$(cat err)" "no event .*'app:app_work'"

"$patchbay" hist 'mkfifo(string path)' keys=path -- true >out 2>err
same "hist: nothing is counted, and why" "patchbay hist: mkfifo() was not called" "$(cat err)"
"$patchbay" latency mkfifo -- true >out 2>err
same "latency: the same" "patchbay latency: mkfifo() was not called" "$(cat err)"
text=$'select 1,\n  2'
"$patchbay" hist 'sqlite3_prepare_v2(NULL, string sql)' keys=sql -- \
  sqlite3 :memory: "$text" >out 2>err
has "hist: a line end in a key" "$(cat out)" '^\{ sql: select 1,\\n  2 +\} hitcount: +1$'
"$patchbay" latency 'sqlite3_prepare_v2(NULL, string sql, int n)' --by sql -- \
  sqlite3 :memory: "$text" >out 2>err
has "latency: a line end in a key" "$(cat out)" '^select 1,\\n  2: 1 times'
"$patchbay" latency 'free(x64 p)' --by p -- sqlite3 :memory: 'select 1' >out 2>err
has "latency: addresses are hexadecimal" "$(cat out)" '^0x[0-9a-f]+: [0-9]+ times'
"$patchbay" latency 'free(x64 p)' --by __parent_ip -- sqlite3 :memory: 'select 1' >out 2>err
has "latency: or symbols" "$(cat out)" '^[a-z][A-Za-z_0-9]+: [0-9]+ times'

# --- one that executes another, which is counted as well (measure_exec.sh has more)
"$patchbay" hist 'malloc(u64 size)' keys=size -- env true >out 2>err
has "hist: what was executed is counted" "$(cat err)" 'has executed true, which is counted, too$'
looked='did not end by exit.*is that of [0-9.]+ s before its end was noticed$'

# --- the other one runs to its end, and its status is the command's
while read -r command; do
  # shellcheck disable=SC2086  # words
  eval "\"$patchbay\" $command" -- env sh -c "'sleep 0.5; echo it has run; exit 7'" >out 2>err
  status=$?
  same "another program: the status, $command" 7 $status
  has "another program runs to its end: $command" "$(cat out)" '^it has run$'
done <<'END'
hist 'malloc(u64 size)' keys=size
latency malloc
calls -e malloc -o calls.txt
top -n 1000
record -q -o executed.dat -e malloc
END

# --- a function; a program that is killed: what counts is the last look before, of four a second
# killed_after SECONDS COMMAND… : it has counted; so long after the command ends it.
killed_after() {
  local pause=$1
  shift
  mkfifo in
  "$patchbay" hist 'work(s64 n, string name)' keys=name -- "$programs/counted" 5000 1000 \
    <in >out 2>err &
  tool=$!
  started $tool
  exec 3>in
  echo >&3
  wait_for 60 grep -q '^calls 1000' out || fail "counted did not count"
  sleep "$pause"
  "$@"
  wait $tool
  exec 3>&-
  rm in
}
kill_program() { kill -KILL "$(<"/proc/$tool/task/$tool/children")"; }
kill_tool() { kill -INT $tool; }
counted_all='^\{ name: counted {43} \} hitcount: +1000$'
for end in kill_program kill_tool; do
  for pause in 0.6 2 10 60; do
    killed_after $pause $end
    if [[ $end == kill_program ]]; then
      has "hist: $end is said" "$(cat err)" "$looked"
    fi
    grep -qE "$counted_all" out && break
  done
  has "hist: a function's calls by a text, $end" "$(cat out)" "$counted_all"
done

# --- a running process; what is left behind
"$programs/two_calls" &
plain=$!
started $plain
"$patchbay" hist 'p:hits/read sys_read a=%di' keys=common_pid -p $plain >out 2>err &
tool=$!
started $tool
read_hits() {
  (($("$patchbay" cat $plain "instances/patchbay-$tool-1/events/hits/read/hist" |
    sed -n 's/^    Hits: //p' | tail -n 1) >= 10))
}
wait_for 60 read_hits || fail "hist -p does not count a process that was started without the agent"
kill -INT $tool
wait $tool
same "hist -p: Ctrl-C after it has attached" 0 $?
has "hist -p: the thread of a process without the agent" "$(cat out)" \
  "^\{ common_pid: +$plain \} hitcount: +[0-9]{2,}$"
has "hist -p: which is left asleep" "$("$patchbay" list processes | grep "^ *$plain ")" asleep
kill $plain
LD_PRELOAD=$agent "$programs/two_calls" &
pid=$!
started $pid
wait_for 20 "$patchbay" cat $pid tracing_on || fail "the process has no agent"
"$patchbay" hist 'p:hits/read sys_read a=%di' keys=common_pid -p $pid >out 2>err &
tool=$!
started $tool
# has_hists EVENT N : it has so many histograms.
has_hists() {
  (($("$patchbay" cat $pid "instances/patchbay-$tool-1/events/$1/trigger" | grep -c '^hist') == $2))
}
# counts EVENT N : its last histogram has so many hits.
counts() {
  (($("$patchbay" cat $pid "instances/patchbay-$tool-1/events/$1/hist" |
    sed -n 's/^    Hits: //p' | tail -n 1) >= $2))
}
wait_for 60 counts hits/read 10 || fail "the calls are not counted"
kill -INT $tool
wait $tool
same "hist -p: Ctrl-C" 0 $?
has "hist -p: the thread" "$(cat out)" "^\{ common_pid: +$pid \} hitcount: +[0-9]{2,}$"
same "hist -p: the probe is gone" "" "$("$patchbay" cat $pid dynamic_events)"
"$patchbay" latency sys_read -p $pid >out 2>err &
tool=$!
started $tool
wait_for 60 has_hists functions/call_sys_read 1 || fail "latency -p: its histogram is not there"
wait_for 60 counts functions/call_sys_read 10 || fail "latency -p: nothing counts the latency"
kill -INT $tool
wait $tool
has "latency -p: calls" "$(cat out)" '^[0-9]{2,} times, '
has "latency -p: bars" "$(cat out)" '\.\. .* +[0-9]+ \|#{40}$'
has "latency -p: quantiles" "$(cat out)" '^  p50 [0-9.]+ [num]s .*max [0-9.]+ [num]?s'
same "latency -p: nothing is left" "" \
  "$("$patchbay" cat $pid dynamic_events)$("$patchbay" cat $pid synthetic_events)"
kill $pid

# --- mistakes
bad() {
  local sentence=$1 status=$2 text=$3
  shift 3
  "$patchbay" "$@" >out 2>err
  same "$sentence: status" "$status" $?
  has "$sentence" "$(cat err)" "$text"
}
bad "hist alone" 2 'An event is needed' hist
bad "hist without keys" 2 'keys=FIELD' hist app:app_work -- "$program"
bad "hist without a program" 2 'program to run is missing' hist app:app_work keys=n --
bad "an unknown field" 1 "Couldn't find field" hist app:app_work keys=nn -- "$program" 1 1 1
bad "an unknown event" 1 "app:app_work" hist app:app_wrk keys=n -- "$program" 1 1 1
bad "several events" 1 'choose one' hist 'app:*' keys=n -- "$program" 1 1 1
bad "latency alone" 2 'START is needed' latency
bad "latency of an event without its end" 1 'END is needed' latency app:app_work -- "$program" 1 1 1
bad "latency: an unknown field" 1 "has no field 'x'" \
  latency --by x app:app_work app:shared_event -- "$program" 1 1 1
bad "sql alone" 2 'A statement is needed' sql
bad "sql: a caret" 1 '^       \^$' sql -n 'SELECT * FROM x' -- "$program"
bad "sql: an unknown field" 1 "'x' is no field of app:app_work" \
  sql 'SELECT x FROM app_work' -- "$program" 1 1 1

# --- sql
same "sql -n" "echo 's:query s64 n; u64 d' >> dynamic_events
echo 'hist:keys=common_pid:__query_1=n,__query_2=common_timestamp' >> events/app/app_work/trigger
echo 'hist:keys=common_pid:__query_3=common_timestamp-\$__query_2:onmatch(app.app_work).query(\
\$__query_1,\$__query_3)' >> events/app/shared_event/trigger" \
  "$("$patchbay" sql -n 'SELECT a.n, TIMESTAMP_DELTA AS d FROM app_work a JOIN shared_event b
     ON a.common_pid = b.common_pid' -- "$program" 1 1 1)"
"$patchbay" sql 'SELECT a.n, b.n AS m, TIMESTAMP_DELTA AS d FROM app_work a JOIN shared_event b
  ON a.common_pid = b.common_pid' -- "$program" 1 1 10 >out 2>err
same "sql: rows" 0 $?
same "sql: a row for each pair" "$(seq 0 4; seq 0 9)" \
  "$(sed -n 's/.* query: n=\([0-9]*\) m=\1 d=[0-9]*$/\1/p' out)"
has "sql without JOIN" "$("$patchbay" sql \
  'SELECT CAST(n AS BUCKETS=5) FROM app_work WHERE n < 8' -- "$program" 1 1 10)" \
  '^\{ n: ~ 5-9 \} hitcount: +3$'
has "sql --hist" "$("$patchbay" sql --hist keys=n:vals=d 'SELECT a.n, TIMESTAMP_DELTA AS d FROM
  app_work a JOIN shared_event b ON a.common_pid = b.common_pid' -- "$program" 1 1 10)" \
  '^\{ n: +3 \} hitcount: +2  d: +[0-9]+$'

# --- real programs
if command -v sqlite3 >/dev/null; then
  queries='create table t(a); insert into t select value from generate_series(1, 200);
    select count(*) from t where a % 7 = 1; select a from t;'
  shown=$("$patchbay" latency sqlite3_step -- sqlite3 :memory: "$queries" 2>err)
  has "latency: sqlite3_step" "$shown" '^2[0-9]{2} times, '
  has "latency: what it is of" "$shown" '^functions:call_sqlite3_step -> return$'
  same "latency: bars and times agree" "$(sed -n 's/ times, .*//p' <<<"$shown")" \
    "$(grep -oE '[0-9]+ \|' <<<"$shown" | awk '{ sum += $1 } END { print sum }')"
  "$patchbay" latency -v --by sql 'sqlite3_prepare_v2(NULL, string sql, int n)' \
    -- sqlite3 :memory: "$queries" >out 2>err
  has "latency --by: a text of the call" "$(cat out)" '^ ?select count\(\*\) from t .*: 1 times, '
  has "latency -v" "$(cat err)" \
    "^echo 'hist:keys=sql:vals=duration,duration.counters' >> events/functions/call_"
fi
if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
  LD_PRELOAD=$agent redis-server --port 0 --unixsocket "$work/redis.sock" --save '' \
    --dir "$work" >redis.log 2>&1 &
  pid=$!
  started $pid
  wait_for 20 redis-cli -s "$work/redis.sock" ping || fail "redis-server did not start"
  "$patchbay" latency getCommand -p $pid >out 2>err &
  tool=$!
  started $tool
  wait_for 60 has_hists functions/call_getCommand 1 || fail "redis: nothing counts the latency"
  redis-benchmark -s "$work/redis.sock" -q -n 2000 -c 4 -t get >/dev/null
  kill -INT $tool
  wait $tool
  has "redis: each get" "$(cat out)" '^2000 times, '
  same "redis goes on" PONG "$(redis-cli -s "$work/redis.sock" ping)"
  redis-cli -s "$work/redis.sock" shutdown nosave >/dev/null 2>&1
fi
finish
