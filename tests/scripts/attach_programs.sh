#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real programs that nobody prepared, at work: attached to, recorded, left alone, attached to again.
# No request fails, and the events are as many as the program has counted itself. Nothing listens
# outside of this script's folder.
#   attach_programs.sh BUILD_DIR [NAME...]      redis nginx postgres python node sqlite java
# ATTACH_PROGRAMS=1 is the long form: all of them, with more of everything. The short one leaves out
# those that take their time to start.
# ATTACH_ROUNDS: attaches and detaches of each program at work (3; in the short form 1).
. "$(dirname "$0")/common.bash"
# shellcheck source=attach_common.bash
. "$here/attach_common.bash"
all="redis nginx postgres python node sqlite java"
if [[ ! ${ATTACH_PROGRAMS:-} ]]; then
  all="redis nginx postgres python sqlite"
  rounds=${ATTACH_ROUNDS:-1}
fi
need python3
patchbay=${ATTACH_TOOL:-$patchbay}
"$patchbay" attach --help >/dev/null 2>&1 || skip "this tool has no command attach"
wanted=" ${*:-$all} "
cd "$work" || exit 1

# --- redis-server, while it saves in the background: commandstats against the events of call()
run_redis() {
  local calls
  redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" >redis.log 2>&1 &
  pid=$!
  started $pid
  cli() { redis-cli -s "$work/redis.sock" "$@"; }
  wait_for 20 cli ping || fail "redis-server did not start"
  cli debug populate 100000 >/dev/null
  redis-benchmark -s "$work/redis.sock" -q -n "$((20000 * rounds))" -c 8 -t set,get \
    >benchmark 2>&1 &
  local load=$!
  started $load
  cli bgsave >/dev/null
  come_and_go redis $pid
  wait $load
  same "redis: the load has ended well" 0 $?
  same "redis: no error was answered" "" "$(grep -i error benchmark)"
  begin_recording redis $pid call 'call(x64 client, int flags)'
  cli config resetstat >/dev/null
  redis-benchmark -s "$work/redis.sock" -q -n 5000 -c 8 -t set,get,incr,lpush >benchmark 2>&1
  cli bgsave >/dev/null
  cli info commandstats | tr -d '\r' >stats
  end_recording redis
  # The INFO that gives the numbers does not count itself.
  calls=$(sed -nE 's/^cmdstat_[^:]*:calls=([0-9]+),.*/\1/p' stats |
    awk '{ n += $1 } END { print n + 1 }')
  same "redis: an event for each command" "$calls" "$(events_in redis)"
  wait_for 20 grep -q 'Background saving terminated with success' redis.log ||
    fail "redis: BGSAVE: $(tail -n 3 redis.log)"
  cli shutdown nosave >/dev/null 2>&1
  wait $pid
  same "redis ends as ever" 0 $?
}

# --- nginx: two workers of another user, and no request may fail
run_nginx() {
  local worker load n=0
  nginx_site "$work" off 2
  nginx -p "$work" -c "$work/nginx.conf" >nginx.out 2>&1 &
  pid=$!
  started $pid
  wait_for 20 test -S "$work/sock" || fail "nginx: $(cat nginx.out)"
  workers() { pgrep -P "$pid" | xargs; }
  two_workers() { (($(workers | wc -w) == 2)); }
  wait_for 20 two_workers
  python3 "$here/attach_load.py" "$work/sock" stop-load >load.out 2>&1 &
  load=$!
  started $load
  for worker in $(workers); do come_and_go nginx "$worker"; done
  come_and_go "nginx's master" $pid
  touch stop-load
  wait $load
  same "nginx: all requests were answered" 0 $?
  sed 's/^/  nginx: /' load.out
  for worker in $(workers); do
    n=$((n + 1))
    begin_recording "nginx$n" "$worker" ngx_http_handler 'ngx_http_handler(x64 request)'
  done
  rm -f stop-load
  python3 "$here/attach_load.py" "$work/sock" stop-load 500 >load.out 2>&1 ||
    fail "nginx: $(cat load.out)"
  end_recording nginx1
  end_recording nginx2
  same "nginx: an event for each request" 500 $(($(events_in nginx1) + $(events_in nginx2)))
  kill -QUIT $pid
  wait $pid
  same "nginx ends as ever" 0 $?
}

# --- postgres: its processes at work; one of them counted, query by query
run_postgres() {
  local bin backend session n load=() as=() database='user=postgres dbname=postgres'
  bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
  [[ -x $bin/postgres ]] || { not_installed postgres; return; }
  mkdir -m 700 pg
  if ((EUID == 0)); then
    id postgres >/dev/null 2>&1 || { not_installed "the user postgres"; return; }
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    chown postgres pg
  else
    database="dbname=postgres"
  fi
  "${as[@]}" "$bin/initdb" -D "$work/pg/data" -A trust --no-sync >initdb.log 2>&1
  "${as[@]}" "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses='' -c fsync=off \
    >postgres.log 2>&1 &
  pid=$!
  started $pid
  sql() { "${as[@]}" "$bin/psql" -qAt "host=$work/pg $database" "$@"; }
  wait_for 30 sql -c 'select 1' || fail "postgres did not start: $(tail -n 3 postgres.log)"
  sql -c 'create table load(a int, n int)' -c 'insert into load values(1, 0), (2, 0)'
  for n in 1 2; do
    { while [[ ! -e stop-load ]]; do
        echo "update load set n = n + 1 where a = $n; select count(*) from pg_class;"
      done; echo "select 'updates', n from load where a = $n;"; } |
      sql -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -c "set application_name = 'load'" -f - \
        >"load$n.out" 2>&1 &
    load+=($!)
    started $!
  done
  backends() { sql -c "select pid from pg_stat_activity where application_name = 'load'"; }
  two_backends() { (($(backends | wc -w) == 2)); }
  wait_for 20 two_backends
  for backend in $(backends); do come_and_go "a backend of postgres" "$backend"; done
  come_and_go "postgres itself" $pid
  touch stop-load
  for n in 1 2; do
    wait "${load[n - 1]}"
    same "postgres: the load has ended well: $(tail -n 1 "load$n.out")" 0 $?
    # Each update is followed by one answer, and behind the last one its number is asked for.
    same "postgres: no update is missing" \
      "updates|$(($(wc -l <"load$n.out") - 1))" "$(tail -n 1 "load$n.out")"
  done
  rm stop-load
  mkfifo queries
  sql <queries >answers 2>&1 &
  session=$!
  exec 6>queries
  echo "select pg_backend_pid();" >&6
  wait_for 20 test -s answers
  begin_recording postgres "$(head -n 1 answers)" pg_parse_query 'pg_parse_query(string query)'
  for ((n = 0; n < 300; n++)); do echo "select $n;" >&6; done
  exec 6>&-
  wait $session
  end_recording postgres
  same "postgres: 300 answers" 301 "$(wc -l <answers)"
  same "postgres: an event for each query" 300 "$(events_in postgres)"
  kill -INT $pid
  wait $pid
  same "postgres ends as ever" 0 $?
}

# --- programs that do what their input says: "work" does the calls, its end ends them.
# driven NAME FUNCTION CALLS COMMAND... : after `ready` it loops until its first line of input, when
# the attaches are over; with the second line it calls FUNCTION CALLS times, and says `done`.
driven() {
  local name=$1 function=$2 calls=$3
  shift 3
  rm -f driven.in && mkfifo driven.in
  "$@" <driven.in >driven.out 2>driven.err &
  pid=$!
  started $pid
  exec 6>driven.in
  wait_for 30 grep -q '^ready' driven.out || fail "$name did not start: $(tail -n 3 driven.err)"
  come_and_go "$name" $pid
  echo >&6
  wait_for 30 grep -q '^calm' driven.out || fail "$name does not answer: $(tail -n 3 driven.err)"
  begin_recording "$name" $pid "$function" "$function()"
  echo >&6
  wait_for 60 grep -q '^done' driven.out || fail "$name does not do its work: $(tail driven.err)"
  end_recording "$name"
  same "$name: an event for each call" "$calls" "$(events_in "$name")"
  exec 6>&-
  wait $pid
  same "$name ends as ever" 0 $?
  same "$name: no error" "ready calm done" "$(xargs <driven.out)"
}
run_python() {
  cat >work.py <<'PYTHON'
import os, sys, threading
going, sums = True, []
def loop():
    count = 0
    while going: count += len(str(count)) > 0
    sums.append(count > 0)
def ask(): [os.getppid() for _ in range(1000)]
def together(work):
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    return threads
threads = together(loop)
print("ready", flush=True); sys.stdin.readline()
going = False
[t.join() for t in threads]
print("calm" if sums == [True] * 4 else sums, flush=True); sys.stdin.readline()
[t.join() for t in together(ask)]
print("done", flush=True); sys.stdin.readline()
PYTHON
  # The program itself and not a script that looks for one.
  driven python getppid 4000 "$(python3 -c 'import sys; print(sys.executable)')" work.py
}
run_node() {
  cat >work.js <<'NODE'
const lines = require('readline').createInterface({input: process.stdin});
let step = 0, sum = 0, files = 0;
const loop = setInterval(() => { for (let i = 0; i < 1e5; i++) sum += i % 7; }, 1);
const read = () => require('fs').readFile('/etc/passwd', (error) => {
  if (error) throw error;
  files++;
  if (step === 0) setImmediate(read);
});
for (let i = 0; i < 4; i++) read();
lines.on('line', () => {
  if (step++ === 0) { clearInterval(loop); console.log(sum > 0 && files > 0 ? 'calm' : 'idle'); }
  else { for (let i = 0; i < 1000; i++) process.ppid; console.log('done'); }
});
console.log('ready');
NODE
  driven node uv_os_getppid 1000 node work.js
}
run_java() {
  cat >Work.java <<'JAVA'
import java.util.*;
class Work {
  static volatile boolean going = true;
  static void loop() {
    List<Object> kept = new ArrayList<>();
    for (long i = 0; going; i++) {
      kept.add(new byte[100]);
      if (kept.size() > 10000) kept.clear();
      try { Object nothing = i % 1000 == 0 ? null : "x"; nothing.hashCode(); }
      catch (NullPointerException expected) { }
    }
  }
  public static void main(String[] arguments) throws Exception {
    Thread[] threads = new Thread[4];
    for (int i = 0; i < 4; i++) (threads[i] = new Thread(Work::loop)).start();
    System.out.println("ready");
    System.in.read();
    going = false;
    for (Thread thread : threads) thread.join();
    System.out.println("calm");
    System.in.read();
    for (int i = 0; i < 100; i++) Thread.sleep(0, 1);
    System.out.println("done");
    while (System.in.read() >= 0) { }
  }
}
JAVA
  exec 6>&-
  rm -f driven.in && mkfifo driven.in
  java Work.java <driven.in >driven.out 2>driven.err &
  pid=$!
  started $pid
  exec 6>driven.in
  wait_for 60 grep -q '^ready' driven.out || fail "java did not start: $(tail -n 3 driven.err)"
  come_and_go java $pid
  printf '\n\n' >&6
  exec 6>&-
  wait $pid
  same "java ends as ever" 0 $?
  same "java: no error" "ready calm done" "$(xargs <driven.out)"
}
# --- sqlite3: as many statements as it was given
run_sqlite() {
  local n
  mkfifo statements
  sqlite3 :memory: <statements >rows 2>&1 &
  pid=$!
  started $pid
  exec 6>statements  # the shell executes the program behind this
  is_sqlite() { [[ $(readlink "/proc/$pid/exe") == *sqlite3 ]]; }
  wait_for 20 is_sqlite || fail "sqlite3 did not start"
  echo 'create table t(a);' >&6
  begin_recording sqlite $pid sqlite3_prepare_v2 'sqlite3_prepare_v2(x64 database, string text)'
  for ((n = 0; n < 500; n++)); do echo "insert into t values($n);" >&6; done
  echo 'select count(*), sum(a) from t;' >&6
  # Its output comes at its end. The file in which it says so comes with the last statement.
  echo ".once $work/all-done" >&6
  echo 'select 1;' >&6
  wait_for 30 test -e all-done
  end_recording sqlite
  same "sqlite3: an event for each statement" 502 "$(events_in sqlite)"
  come_and_go sqlite3 $pid
  echo 'select max(a) from t;' >&6
  exec 6>&-
  wait $pid
  same "sqlite3 ends as ever" 0 $?
  same "sqlite3: its rows" "500|124750 499" "$(xargs <rows)"
}

for name in redis nginx postgres python node sqlite java; do
  began=$SECONDS
  [[ $wanted == *" $name "* ]] || continue
  case $name in
    redis) program=redis-server ;;
    sqlite) program=sqlite3 ;;
    python) program=python3 ;;
    *) program=$name ;;
  esac
  if [[ $name != postgres ]] && ! command -v "$program" >/dev/null; then
    not_installed "$program"
  else
    "run_$name"
    echo "  $name: $((SECONDS - began)) s"
  fi
done
finish
