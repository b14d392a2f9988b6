#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Histograms and synthetic events in real servers, their numbers compared with what the programs
# themselves have counted, or with the records of the same run. Nothing listens outside of this
# script's folder.
#   hist_real_programs.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1
# with NAME PROGRAM… : are they there?
with() {
  local name=$1
  shift
  command -v "$@" >/dev/null && return
  echo "SKIPPED: $name is not installed"
  return 1
}
wr() { "$patchbay" write "$pid" "$1" "$2" 2>err || fail "$1 does not take: $2: $(cat err)"; }
rd() { "$patchbay" cat "$pid" "$1"; }
# The tool works in an instance of its own.
has_hist() { rd "instances/patchbay-$tool-1/events/$1/trigger" | grep -q '^hist'; }

# --- redis-server: latency by the name of the command, against INFO commandstats.
# All commands go through call(client*, int flags), a function that the program exports; the name is
# client->realcmd->declared_name, and where realcmd is, call() itself says: it keeps it in %rbp.
redis=$(command -v redis-server)
call=$(nm -D "$redis" 2>/dev/null | awk '$3 == "call" { print $1 }')
realcmd=$(objdump -d --start-address="0x$call" "$redis" 2>/dev/null |
  sed -nE 's/.*mov +0x([0-9a-f]+)\(%rdi\),%rbp$/\1/p' | head -n 1)
if with redis redis-server redis-cli redis-benchmark && [[ $realcmd ]]; then
  LD_PRELOAD=$agent redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" \
    >redis.log 2>&1 &
  pid=$!
  started $pid
  cli() { redis-cli -s "$work/redis.sock" "$@"; }
  wait_for 20 cli ping || fail "redis-server did not start"
  "$patchbay" latency -v --by cmd "p:redis/call call cmd=+0(+0(+0x$realcmd(%di))):string" \
    'r:redis/done call' -p $pid >out 2>err &
  tool=$!
  started $tool
  wait_for 20 has_hist synthetic/latency || fail "redis: nothing counts the latency: $(cat err)"
  sleep 0.5
  cli config resetstat >/dev/null
  redis-benchmark -s "$work/redis.sock" -q -n 20000 -c 8 \
    -t set,get,incr,lpush,rpop,sadd,hset >benchmark 2>&1
  redis-benchmark -s "$work/redis.sock" -q -n 3000 -c 4 -P 16 -t mset >>benchmark 2>&1
  cli eval 'for i = 1, 10 do redis.call("get", "k") end' 0 >/dev/null
  cli info commandstats | tr -d '\r' >stats
  hist=$(rd "instances/patchbay-$tool-1/events/synthetic/latency/hist")
  kill -INT $tool
  wait $tool
  # Name and calls, as redis has counted them and as the histogram has. Of CONFIG GET, which
  # redis-benchmark calls too, the declared name is get. EVAL calls call() for each GET in it: of
  # calls in a call, the innermost are measured. resetstat and info lie at the ends.
  theirs=$(sed -nE 's/^cmdstat_([a-z]+\|)?([a-z]+):calls=([0-9]+),.*/\2 \3/p' stats |
    awk '$1 !~ /^(eval|resetstat)$/ { n[$1] += $2 }
      END { for (name in n) print name, n[name] }' | sort)
  ours=$(sed -nE 's/^([a-z]+): ([0-9]+) times, .*/\1 \2/p' out |
    grep -vE '^(info|resetstat) ' | sort)
  same "redis: as many calls of each command as redis has counted" "$theirs" "$ours"
  gets=$(sed -nE 's/^cmdstat_get:calls=([0-9]+),.*/\1/p' stats)
  same "redis: 20000 of GET and ten in a script" 20010 "$gets"
  check "redis: a distribution for each" test "$(grep -c '^  p50 ' out)" -ge 9
  has "redis: by name in the process's own table" "$hist" '^\{ cmd: get {47} '
  has "redis: nothing was dropped" "$hist" '^    Dropped: 0$'
  same "redis goes on" PONG "$(cli ping)"
  same "redis: nothing is left" "" "$(rd dynamic_events)$(rd synthetic_events)"
  cli shutdown nosave >/dev/null 2>&1
  grep -E '^[a-z]+: [0-9]+ times' out | head -n 12 | sed 's/^/  /'
fi

# --- postgres: latency of queries from its own probes query__start and query__done, in all of its
# processes at once. Its log says how many there were.
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
if [[ -x $bin/pgbench ]] && { ((EUID != 0)) || id postgres >/dev/null 2>&1; }; then
  as=()
  mkdir -m 700 pg pg/run
  if ((EUID == 0)); then
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    chown -R postgres pg
  fi
  "${as[@]}" "$bin/initdb" -D "$work/pg/data" -A trust --no-sync >initdb.log 2>&1
  "${as[@]}" env LD_PRELOAD="$agent" PATCHBAY_DIR="$work/pg/run" "$bin/postgres" \
    -D "$work/pg/data" -k "$work/pg" -c listen_addresses='' -c fsync=off -c log_statement=all \
    -c autovacuum=off >postgres.log 2>&1 &
  pid=$!
  started $pid
  sql() { "${as[@]}" "$bin/psql" -h "$work/pg" -d postgres -qAt "$@"; }
  wait_for 30 sql -c 'select 1' || fail "postgres did not start: $(tail -n 3 postgres.log)"
  "${as[@]}" "$bin/pgbench" -h "$work/pg" -i -q postgres >/dev/null 2>pgbench.err ||
    fail "pgbench -i: $(tail -n 2 pgbench.err)"
  export PATCHBAY_DIR=$work/pg/run
  start=sdt_postgresql/query__start done=sdt_postgresql/query__done
  wr synthetic_events 'query u64 lat; int pid'
  wr dynamic_events "e:pg/text sdt_postgresql/query__start text=+0(\$arg1):string"
  wr events/$start/trigger 'hist:keys=common_pid:ts=common_timestamp'
  wr events/$done/trigger 'hist:keys=common_pid:lat=common_timestamp-$ts:'\
'onmatch(sdt_postgresql.query__start).query($lat,common_pid)'
  wr events/synthetic/query/trigger 'hist:keys=pid:vals=lat,lat.quantiles'
  wr events/synthetic/query/trigger 'hist:keys=lat.log2:sort=lat'
  wr events/pg/text/trigger 'hist:keys=text:size=16384'
  wr buffer_size_kb 4096
  wr events/synthetic/query/enable 1
  before=$(grep -c 'LOG:  statement: ' postgres.log)
  "${as[@]}" "$bin/pgbench" -h "$work/pg" -n -S -c 4 -j 2 -t 500 postgres >pgbench.out 2>&1
  "${as[@]}" "$bin/pgbench" -h "$work/pg" -n -c 2 -t 50 postgres >>pgbench.out 2>&1
  for i in 1 2 3; do
    sql -c "select $i + 1" -c 'select count(*) from pgbench_accounts' -c 'select nothing' \
      >>sql.out 2>>sql.err
  done
  queries=$(($(grep -c 'LOG:  statement: ' postgres.log) - before))
  # Those that failed began, but are not done.
  by_pid=$(rd events/synthetic/query/hist)
  failed=$(grep -c 'STATEMENT: .*nothing' postgres.log)
  same "postgres: three were wrong" 3 "$failed"
  same "postgres: each query that was done" $((queries - failed)) \
    "$(sed -n 's/^    Hits: //p' <<<"$by_pid" | head -n 1)"
  check "postgres: more than 2500 of them" test "$queries" -gt 2700
  totals=$(sed -n 's/^    \(Hits\|Dropped\): //p' <<<"$by_pid" | xargs)
  same "postgres: both tables have them, and drop none" \
    "$((queries - failed)) 0 $((queries - failed)) 0" "$totals"
  started_queries=$(rd events/$start/hist | sed -n 's/^    Hits: //p')
  same "postgres: each query began" "$queries" "$started_queries"
  texts=$(rd events/pg/text/hist)
  has "postgres: by its text" "$texts" \
    '^\{ text: select count\(\*\) from pgbench_accounts +\} hitcount: +3$'
  has "postgres: a text of pgbench" "$texts" '^\{ text: BEGIN; +\} hitcount: +100$'
  same "postgres: texts of all" "$queries" "$(sed -n 's/^    Hits: //p' <<<"$texts")"
  # The sums of the table are those of the records of all processes.
  rd trace >pg.trace
  summed=$(sed -nE 's/.* query: lat=([0-9]+) pid=([0-9]+)$/\2 \1/p' pg.trace |
    awk '{ n[$1]++; sum[$1] += $2 } END { for (p in n) print p, n[p], sum[p] }' | sort)
  shown=$(sed -nE 's/^\{ pid: +([0-9]+) \} hitcount: +([0-9]+)  lat: +([0-9]+) .*/\1 \2 \3/p' \
    <<<"$by_pid" | sort)
  same "postgres: sums of the records" "$summed" "$shown"
  grep -E '^\{ pid: .*hitcount: +[0-9]{3}' <<<"$by_pid" | head -n 4 | sed 's/^/  /'
  export PATCHBAY_DIR=$work/run
  kill -INT $pid
  wait $pid
  same "postgres ends as ever" 0 $?
else
  echo "SKIPPED: postgres is not installed"
fi

# --- sqlite3: latency of sqlite3_step() by the text of the statement, with quantiles that are
# compared with those of the records of the same run. The text is the statement's: sqlite3_sql()
# says where.
lib=$(ldd "$(command -v sqlite3)" 2>/dev/null | awk '/libsqlite3/ { print $3 }')
text_at=$(gdb -q -batch -ex 'disassemble sqlite3_sql' "$lib" 2>/dev/null |
  sed -nE 's/.*mov +0x([0-9a-f]+)\(%rdi\),%rax$/\1/p' | head -n 1)
if with sqlite3 sqlite3 && [[ $text_at ]]; then
  mkfifo in
  LD_PRELOAD=$agent sqlite3 :memory: <in >sqlite.out 2>&1 &
  pid=$!
  started $pid
  exec 3>in
  wait_for 20 rd tracing_on || fail "sqlite3 has no agent"
  echo 'create table t(a, b); insert into t select value, hex(value) from generate_series(1, 3000);
    select "ready";' >&3
  wait_for 20 grep -q ready sqlite.out || fail "sqlite3 does not answer"
  wr buffer_size_kb 8192
  wr synthetic_events 'step u64 lat; char sql[]'
  wr dynamic_events "p:sq/step libsqlite3.so.0:sqlite3_step sql=+0(+0x$text_at(%di)):string"
  wr dynamic_events 'r:sq/done libsqlite3.so.0:sqlite3_step'
  wr events/sq/step/trigger 'hist:keys=common_pid:ts=common_timestamp,text=sql'
  wr events/sq/done/trigger 'hist:keys=common_pid:lat=common_timestamp-$ts:'\
'onmatch(sq.step).step($lat,$text)'
  wr events/synthetic/step/trigger 'hist:keys=sql:vals=lat,lat.quantiles:sort=hitcount'
  wr events/synthetic/step/enable 1
  {
    echo 'select a from t where a % 3 = 1; select b from t; select count(*) from t;'
    for ((i = 0; i < 50; i++)); do
      echo "insert into t values($i, 1); update t set b = 2 where a = $i; select max(a) from t;"
    done
    echo 'select "the end";'
  } >&3
  wait_for 60 grep -q 'the end' sqlite.out || fail "sqlite3 does not come to its end"
  rd events/synthetic/step/hist >step.hist
  rd trace >step.trace
  same "sqlite3: nothing is lost" "" "$(grep -h overrun: <(rd per_cpu/cpu0/stats) | grep -v ': 0$')"
  python3 - step.hist step.trace >judged <<'PYTHON'
import re, sys
hist, trace = (open(name).read() for name in sys.argv[1:])
raw = {}
for lat, sql in re.findall(r" step: lat=(\d+) sql=(.*)$", trace, re.M):
    raw.setdefault(sql.rstrip(), []).append(int(lat))
rows = re.findall(r"^\{ sql: (.*?) *\} hitcount: +(\d+)  lat: +(\d+)  lat\.p50: +(\d+)  lat\.p90: "
                  r"+(\d+)  lat\.p99: +(\d+)  lat\.p99\.9: +(\d+)  lat\.max: +(\d+)$", hist, re.M)
checked = worst = 0
for sql, *numbers in rows:
    hits, total, *quantiles = map(int, numbers)
    values = sorted(raw.get(sql, []))
    if (len(values), sum(values)) != (hits, total):
        print("differs:", sql, hits, total, len(values), sum(values))
        continue
    for shown, per_mille in zip(quantiles, (500, 900, 990, 999, 1000)):
        rank = max((len(values) * per_mille + 999) // 1000, 1)  # the nearest
        exact = values[rank - 1]
        off = abs(shown - exact) / exact
        checked, worst = checked + 1, max(worst, off)
        if off > 0.016:
            print(f"differs: {sql}: p{per_mille / 10} is {exact}, shown {shown}")
if len(rows) != len(raw):
    print("differs:", len(rows), "statements,", len(raw), "in the records")
print(f"{len(rows)} statements, {sum(map(len, raw.values()))} steps, {checked} quantiles,"
      f" at most {worst:.2%} off")
PYTHON
  same "sqlite3: quantiles, sums and counts are those of the records" "" "$(grep differs judged)"
  has "sqlite3: of many steps" "$(cat judged)" '^105 statements, [0-9]{4,} steps, [0-9]+ quantiles'
  has "sqlite3: every row of a table" "$(cat step.hist)" \
    '^\{ sql: select b from t; +\} hitcount: +3001 '
  sed 's/^/  sqlite3: /' judged
  grep -E 'hitcount: +[0-9]{4}' step.hist | sed 's/  */ /g; s/^/  /'
  exec 3>&-
  wait $pid
  same "sqlite3 ends as ever" 0 $?
fi
finish
