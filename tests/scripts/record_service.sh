#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Servers that run already, nobody prepared them, in one recording: postgres with pgbench, nginx
# with its workers, redis while it saves. What is recorded is what they have counted themselves.
#   record_service.sh BUILD_DIR [REGEX]      the servers whose name the REGEX finds; all
. "$(dirname "$0")/common.bash"
cd "$work" || exit 1
wanted=${1:-}
begin() { [[ $1 =~ $wanted ]] && echo "  $1"; }

# --- a control group of its own, where one can be made

group=$(make_group "patchbay-service-$$")
trap '[[ ! $group ]] || remove_group "$group"; cleanup' EXIT
# in_group COMMAND… & : the command and all that it starts are in the group, if there is one.
# shellcheck disable=SC2016  # $0 is the inner shell's
in_group() {
  [[ $group ]] || exec "$@"
  exec bash -c 'echo $$ >"$0"; exec "$@"' "$group/cgroup.procs" "$@"
}
# those_of PID : the choice of a server's processes: its group, or one by one.
those_of() {
  if [[ $group ]]; then
    those=(--cgroup "$group")
  else
    those=(-p "$1,$(pgrep -d , -P "$1")")
  fi
}

# record FILE WORD… : in the background, until it says that it records. Sets recorder. It does not
# get the input of psql (descriptor 5): psql's connection would last as long as the recorder.
record() {
  rm -f "$1" record.err
  "$patchbay" record -o "$@" 2>record.err 5>&- &
  recorder=$!
  started $recorder
  wait_for 60 grep -qE 'Ctrl-C ends the recording|patchbay record: ' record.err ||
    fail "record does not begin: $(cat record.err)"
}
# stop : by Ctrl-C. A hang fails.
stop() {
  kill -INT $recorder
  wait_for 90 eval "! kill -0 $recorder 2>/dev/null" || fail "record hangs: $(cat record.err)"
  wait $recorder
  same "record's status" 0 $?
}
# ends PID WHAT SIGNAL : it does, by itself and with status 0.
ends() {
  kill "-$3" "$1"
  wait_for 60 eval "! kill -0 $1 2>/dev/null" || fail "$2 does not end"
  kill -0 "$1" 2>/dev/null && kill -9 "$1"
  wait "$1"
  same "$2 ends as ever" 0 $?
}
count() { grep -cE -- "$1" "$2"; }

# --- postgres

pg=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
if [[ ! -x $pg/pgbench ]] || { ((EUID == 0)) && ! id postgres >/dev/null 2>&1; }; then
  echo "SKIPPED: record_service.sh: postgres or pgbench is not installed"
elif begin postgres; then
  as=()
  mkdir -m 700 pg
  if ((EUID == 0)); then
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    chown -R postgres pg
  fi
  "${as[@]}" "$pg/initdb" -D "$work/pg/data" -A trust --no-sync >initdb.log 2>&1
  in_group "${as[@]}" "$pg/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses='' \
    -c fsync=off -c autovacuum=off -c max_connections=40 >postgres.log 2>&1 &
  pid=$!
  started $pid
  sql() { "${as[@]}" "$pg/psql" -h "$work/pg" -d postgres -qAt "$@"; }
  bench() { "${as[@]}" "$pg/pgbench" -h "$work/pg" -n "$@" postgres >>pgbench.out 2>&1; }
  wait_for 60 sql -c 'select 1' || fail "postgres did not start: $(tail -n 3 postgres.log)"
  check "pgbench -i" "${as[@]}" "$pg/pgbench" -h "$work/pg" -i -q postgres 2>pgbench.err
  no_backend() { ! pgrep -P $pid -f '\[local\]' >/dev/null; }
  # What the server has counted: transactions that were committed, and rolled back; and how many of
  # them are readings of ours, each with a transaction for its connection and one for its query. A
  # backend tells when it ends, so this asks until nothing but its own reading is added.
  counted() {
    local text="select xact_commit, xact_rollback from pg_stat_database where datname = 'postgres'"
    local now before="" readings=0
    for _ in $(seq 50); do
      readings=$((readings + 1))
      wait_for 20 no_backend
      now=$(sql -F ' ' -c "$text")
      [[ $before && $now == "$((${before% *} + 2)) ${before#* }" ]] && break
      before=$now
    done
    wait_for 20 no_backend
    ((readings < 50)) || fail "the statistics do not come to rest"
    echo "$now $readings"
  }
  read -r commits_before rollbacks_before _ < <(counted)
  # One that is connected before the recording.
  mkfifo session.in
  sql <session.in >session.out 2>session.err &
  exec 5>session.in
  echo "select 'here';" >&5
  wait_for 20 grep -q here session.out || fail "psql: $(cat session.err)"
  those_of $pid
  record pg.dat -e 'AtEOXact_PgStat(bool isCommit, bool parallel)' "${those[@]}"
  for i in $(seq 25); do echo "select $i;"; done >&5
  echo "select nothing; select 'done';" >&5
  wait_for 20 grep -q "done" session.out
  check "pgbench, 8 clients" bench -c 8 -j 2 -t 250
  check "pgbench, a connection for each" bench -C -c 4 -j 2 -t 10
  exec 5>&-
  wait_for 30 no_backend
  stop
  read -r commits rollbacks readings < <(counted)
  "$patchbay" report pg.dat >pg.text 2>/dev/null
  committed=$((commits - commits_before - 2 - 2 * readings))
  # The session's connection and its first query were before the recording.
  same "postgres: transactions as the server has counted them" \
    "$committed $((rollbacks - rollbacks_before))" \
    "$(count 'PgStat\(isCommit=(1|true|Y)' pg.text) $(count 'isCommit=(0|false|N)' pg.text)"
  check "postgres: there were more than 2000" test "$committed" -gt 2000
  same "postgres: the summary" "$((committed + rollbacks - rollbacks_before))" \
    "$(summary_events record.err)"
  same "postgres: nothing is lost" 0 "$(summary_lost record.err)"
  # One table by process: new backends are the children of one program.
  "$patchbay" report --processes pg.dat >pg.processes
  same "postgres: by process" "$((committed + rollbacks - rollbacks_before))" \
    "$(awk '$1 ~ /^[0-9]+$/ && $5 ~ /^[0-9]+$/ { sum += $5 } END { print sum + 0 }' pg.processes)"
  check "postgres: each new backend is one" test "$(count '\(forked\)' pg.processes)" -ge 48
  # trace-cmd sees the same.
  if command -v trace-cmd >/dev/null; then
    same "postgres: trace-cmd" "$((committed + rollbacks - rollbacks_before))" \
      "$(trace-cmd report -i pg.dat 2>/dev/null | grep -c 'AtEOXact_PgStat')"
  fi
  # Live: the same sum in a table, while they run.
  read -r commits_before _ _ < <(counted)
  "$patchbay" hist "${those[@]}" 'AtEOXact_PgStat(bool isCommit, bool parallel)' keys=isCommit \
    >pg.hist 2>hist.err &
  hist=$!
  started $hist
  # A backend records with the postmaster, so that is the one that counts.
  trigger=instances/patchbay-$hist-1/events/functions/AtEOXact_PgStat/trigger
  is_counting() { "$patchbay" cat "$pid" "$trigger" | grep -q '^hist'; }
  wait_for 60 is_counting || fail "hist does not begin: $(cat hist.err)"
  check "pgbench, beside hist" bench -c 8 -j 2 -t 100
  wait_for 30 no_backend
  ends $hist hist INT
  read -r commits _ readings < <(counted)
  same "postgres: hist has counted them" "$((commits - commits_before - 2 * readings))" \
    "$(awk '/Hits:/ { print $2 }' pg.hist)"
  # At full speed: each event is in the file, or counted as lost.
  record fast.dat -e 'LWLockAcquire(x64 lock, int mode)' -e 'LWLockRelease(x64 lock)' "${those[@]}"
  from=$(date +%s%N)
  check "pgbench, read only" bench -S -M prepared -c 8 -j 2 -T 2
  to=$(date +%s%N)
  wait_for 30 no_backend
  stop
  events=$(summary_events record.err)
  echo "  $((events * 1000000000 / (to - from))) events/s, lost $(summary_lost record.err)"
  same "postgres: what the summary says is in the file" "$events" \
    "$("$patchbay" report fast.dat 2>/dev/null | grep -c 'LWLock')"
  same "postgres: the server goes on" 1 "$(sql -c 'select 1')"
  ends $pid postgres INT
  same "postgres: nothing is left" "" "$(ls "$PATCHBAY_DIR")"
  [[ $group ]] && wait_for 20 eval "[[ ! \$(cat '$group/cgroup.procs') ]]"
fi

# --- nginx

if ! command -v nginx >/dev/null; then
  echo "SKIPPED: record_service.sh: nginx is not installed"
elif begin nginx; then
  nginx_site "$work/web" off 4
  in_group nginx -p "$work/web" -c "$work/web/nginx.conf" >nginx.out 2>&1 &
  pid=$!
  started $pid
  wait_for 60 test -S "$work/web/sock" || fail "nginx: $(cat nginx.out)"
  wait_for 20 eval "((\$(pgrep -c -P $pid) == 4))"
  those_of $pid
  same "nginx: answers before" 10 "$(nginx_right_answers "$work/web/sock" 10)"
  record web.dat -e 'ngx_http_handler(x64 request)' "${those[@]}"
  same "nginx: answers" 500 "$(nginx_right_answers "$work/web/sock" 500)"
  # New workers, which the master forks: they record with it, or come to the group.
  before=$(pgrep -d ' ' -P $pid)
  kill -HUP $pid
  # shellcheck disable=SC2086  # several words
  wait_for 30 eval "! kill -0 $before 2>/dev/null" || fail "the old workers stay"
  same "nginx: answers of new workers" 300 "$(nginx_right_answers "$work/web/sock" 300)"
  stop
  "$patchbay" report web.dat >web.text 2>/dev/null
  same "nginx: requests" 800 "$(count 'ngx_http_handler\(' web.text)"
  same "nginx: by process" 800 "$("$patchbay" report --processes web.dat |
    awk '$1 ~ /^[0-9]+$/ { for (i = 1; i <= NF; i++) if ($i ~ /^nginx/) { sum += $5; break } }
      END { print sum + 0 }')"
  same "nginx: answers afterwards" 10 "$(nginx_right_answers "$work/web/sock" 10)"
  ends $pid nginx QUIT
  same "nginx: nothing is left" "" "$(ls "$PATCHBAY_DIR")"
fi

# --- redis, which forks to save

if ! command -v redis-server >/dev/null; then
  echo "SKIPPED: record_service.sh: redis is not installed"
elif begin redis; then
  mkdir -p redis
  in_group redis-server --port 0 --unixsocket "$work/redis/sock" --dir "$work/redis" --save '' \
    --daemonize no >redis.log 2>&1 &
  pid=$!
  started $pid
  cli() { redis-cli -s "$work/redis/sock" "$@"; }
  wait_for 60 eval "[[ \$(redis-cli -s '$work/redis/sock' ping) == PONG ]]" ||
    fail "redis: $(tail -n 3 redis.log)"
  for i in $(seq 300); do echo "set key$i value$i"; done | cli >/dev/null
  if [[ $group ]]; then those=(--cgroup "$group"); else those=(-p "$pid"); fi
  record redis.dat -e 'processCommand(x64 client)' -e 'rdbSaveKeyValuePair(x64 rdb)' "${those[@]}"
  for i in $(seq 200); do echo "get key$i"; done | cli >/dev/null
  cli bgsave >/dev/null
  wait_for 30 eval "redis-cli -s '$work/redis/sock' info persistence |
    grep -q 'rdb_bgsave_in_progress:0'" || fail "redis does not save"
  stop
  "$patchbay" report redis.dat >redis.text 2>/dev/null
  same "redis: keys that the child has saved" 300 "$(count 'rdbSaveKeyValuePair\(' redis.text)"
  same "redis: by one process, which is not the server" 1 \
    "$(sed -nE "s/^ *(<?[^ ]+)-([0-9]+) .*rdbSaveKeyValuePair.*/\2/p" redis.text | sort -u |
      grep -vc "^$pid$")"
  commands=$(count 'processCommand\(' redis.text)
  check "redis: its commands: $commands" test "$commands" -ge 202
  same "redis goes on" PONG "$(cli ping)"
  cli shutdown nosave >/dev/null 2>&1
  wait_for 20 eval "! kill -0 $pid 2>/dev/null"
  same "redis: nothing is left" "" "$(ls "$PATCHBAY_DIR")"
fi
finish
