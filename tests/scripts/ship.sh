#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recordings to a server that plays ClickHouse (ship_server.py): every row is there once, whatever
# the server answers, and whoever is killed on the way.
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1
server_pid=
cat >"$work/connects.py" <<'PYTHON'
import socket, sys
socket.create_connection(("127.0.0.1", int(open(sys.argv[1]).read())), 1)
PYTHON
start_server() {
  python3 "$here/ship_server.py" "$work/$1" "$work/$1.port" 2>"$work/$1.err" &
  server_pid=$!
  started $server_pid
  wait_for 60 python3 "$work/connects.py" "$work/$1.port" ||
    fail "the server does not start: $(cat "$1.err")"
  url=http://127.0.0.1:$(cat "$1.port")
}
rows() { python3 "$here/ship_server.py" "$work/db" rows patchbay "$1"; }
# numbers TABLE : rows, different n, different (source, block, row)
numbers() {
  rows "$1" | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(len(rows), len({row["n"] for row in rows}),
      len({(row["host"], row["source"], row["block"], row["row"]) for row in rows}))'
}
forget() { rm -f "$work"/db/*; }
mode() { echo "$*" >"$work/db/mode"; }
ship() { timeout 120 "$patchbay" ship --to "$url" --rows 1000 "$@" </dev/null 2>ship.err; }

"$patchbay" record -q -b 16M -e 'called(int n)' -e app:hit -o calls.dat -- \
  "$programs/hits" <<<$'call 0 6500\nstat 0 2500' >/dev/null 2>record.err
recorded() { "$patchbay" report -i "$1" --stat 2>/dev/null | awk '/ in all$/ { print $1 }'; }
same "it records" 9000 "$(recorded calls.dat)"
start_server db

# --- what is there
forget
check "a recording is shipped" ship -i calls.dat
has "and says how much it was" "$(cat ship.err)" "9000 rows in 10 blocks .* to $url"
same "of one kind of events" "6500 6500 6500" "$(numbers functions__called)"
same "and of the other" "2500 2500 2500" "$(numbers app__hit)"
rows app__hit | python3 -c '
import json, os, socket, sys, time
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
rows = [json.loads(line) for line in sys.stdin]
for row in rows:
    assert row["host"] == os.uname().nodename, row
    assert row["boot_id"] == boot, row
    assert row["pid"] == row["tid"] > 0 and row["comm"] == "hits", row
    assert row["exe"].endswith("/hits"), row
    assert row["word"] == ("odd" if row["n"] % 2 else "even"), row
    assert abs(row["time_ns"] / 1e9 - time.time()) < 3600, row
    assert row["day"] == rows[0]["time_ns"] // 86400000000000, row
assert [row["n"] for row in sorted(rows, key=lambda row: row["ts"])] == list(range(2500))
' 2>values.err || fail "values: $(tail -n 2 values.err)"
check "it is shipped again" ship -i calls.dat
same "and is there once" "6500 6500 6500" "$(numbers functions__called)"
check "as another host" ship --host db2 -i calls.dat
same "it is there twice" "13000 6500 13000" "$(numbers functions__called)"
check "with a filter" ship --host few -e app:hit -f 'n < 10' -i calls.dat
same "a part of it is" 10 "$(rows app__hit | grep -c '"host": "few"')"

# --- bad answers: each in the middle of it, and in the beginning
for answer in "error 3" "garbage 4" "drop 3" "lose 3" "half 2" "full 3"; do
  forget
  mode "$answer"
  check "$answer: shipped" ship --host "$answer" -i calls.dat
  same "$answer: each row once" "6500 6500 6500" "$(numbers functions__called)"
  same "$answer: each other row once" "2500 2500 2500" "$(numbers app__hit)"
done
forget
mode slow 1
check "a slow answer is waited for no longer than it may" ship --timeout 1 -i calls.dat
same "and each row is there once" "6500 6500 6500" "$(numbers functions__called)"
forget
mode error
ship --patience 1 -i calls.dat && fail "a server that never takes anything is a success"
has "it says why it gives up" "$(cat ship.err)" 'the server answers 500: Code: 999'
same "in no control characters" "" "$(tr -d '\n\t\40-\176' <ship.err)"

# --- tables that are there
forget
echo '[["host", "String"], ["n", "String"]]' >db/patchbay.app__hit.columns
ship -i calls.dat && fail "a table of another kind is taken"
has "the column is named" "$(cat ship.err)" 'patchbay.app__hit has the column n of the type String'
same "the other table has its rows" "6500 6500 6500" "$(numbers functions__called)"
same "and the refused ones are counted" '2500 refused app:hit' "$(rows patchbay_losses |
  python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line); print(row["lost"], row["reason"], row["event"])')"
forget
python3 - "$work/db" <<'PYTHON'
import json, sys
head = [["host", "String"], ["boot_id", "UUID"], ["pid", "Int32"], ["tid", "Int32"]]
json.dump(head, open(sys.argv[1] + "/patchbay.app__hit.columns", "w"))
PYTHON
check "a table with fewer columns gets the others" ship -i calls.dat
same "and the rows" "2500 2500 2500" "$(numbers app__hit)"

# --- passwords
forget
echo 's3cret word' >password
chmod 600 password
check "with a password" ship --user me --password-file password -i calls.dat
has "the server hears of it" "$(cat db/log)" ' me INSERT'
chmod 644 password
ship --user me --password-file password -i calls.dat 2>ship.err &&
  fail "a password that others may read is taken"
has "a password that others may read is refused" "$(cat ship.err)" 'others may read: chmod 600'
grep -q s3cret db/log ship.err && fail "the password is in an address or a message"
"$patchbay" ship --to http://me:pw@127.0.0.1:1 -i calls.dat 2>ship.err &&
  fail "a password in an address is taken"
has "an address has none" "$(cat ship.err)" 'A password does not belong in an address'
grep -q me:pw ship.err && fail "the password is in the message"

# --- the server dies, and comes back with what it has
forget
kill -9 $server_pid
wait $server_pid 2>/dev/null
timeout 120 "$patchbay" ship --to "$url" --rows 500 -i calls.dat </dev/null 2>ship.err &
shipper=$!
started $shipper
start_server db
has_rows() { [[ -n $(rows functions__called) ]]; }
wait_for 60 has_rows || fail "nothing comes"
kill -9 $server_pid
wait $server_pid 2>/dev/null
start_server db
check "it is shipped across two deaths" wait $shipper
same "each row once" "6500 6500 6500" "$(numbers functions__called)"

# --- the shipper dies
forget
for _ in 1 2 3; do
  "$patchbay" ship --to "$url" --rows 100 -i calls.dat 2>/dev/null &
  shipper=$!
  started $shipper
  before=$(rows functions__called | wc -l)
  wait_for 60 eval "((\$(rows functions__called | wc -l) > $before)) || ! kill -0 $shipper" ||
    fail "nothing comes"
  kill -9 $shipper 2>/dev/null
  wait $shipper 2>/dev/null
done
check "the last one ships the rest" ship --rows 100 -i calls.dat
same "each row once" "6500 6500 6500" "$(numbers functions__called)"
same "each other row once" "2500 2500 2500" "$(numbers app__hit)"

check "to nobody" timeout 60 "$patchbay" ship --to null -i calls.dat
finish
