#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Servers that run already, nobody prepared them, in one recording: postgres with pgbench, nginx with
# its workers, redis while it saves. What is recorded is what the servers themselves have counted.
#   record_service.sh BUILD_DIR [REGEX]      the servers whose name the REGEX finds; all
. "$(dirname "$0")/common.bash"
cd "$work" || exit 1
wanted=${1:-}
begin() { [[ $1 =~ $wanted ]] && echo "  $1"; }

# --- a control group of its own, where one can be made

group=
for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
  [[ -e $top/cgroup.procs ]] && mkdir "$top/patchbay-service-$$" 2>/dev/null &&
    group=$top/patchbay-service-$$ && break
done
leave_group() {
  local pid
  [[ $group ]] || return 0
  while read -r pid; do kill -9 "$pid" 2>/dev/null; done <"$group/cgroup.procs"
  wait_for 10 rmdir "$group"
}
trap 'leave_group; cleanup' EXIT
# in_group COMMAND… : the command and all that it starts are in the group, if there is one.
# shellcheck disable=SC2016  # $0 is the inner shell's
in_group() {
  if [[ $group ]]; then
    bash -c 'echo $$ >"$0"; exec "$@"' "$group/cgroup.procs" "$@"
  else
    "$@"
  fi
}
# those_of PID : the choice of a server's processes: its group, or one by one.
those_of() {
  if [[ $group ]]; then
    those=(--cgroup "$group")
  else
    those=(-p "$1,$(pgrep -d , -P "$1")")
  fi
}

# record FILE WORD… : in the background, until it says that it records. Sets recorder.
record() {
  rm -f "$1" record.err
  "$patchbay" record -o "$@" 2>record.err &
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
  # The session's connection and its first query were before the recording.
  same "postgres: transactions as the server has counted them" \
    "$((commits - commits_before - 2 - 2 * readings)) $((rollbacks - rollbacks_before))" \
    "$(count 'PgStat\(isCommit=(1|true|Y)' pg.text) $(count 'isCommit=(0|false|N)' pg.text)"
fi
finish
