#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The rings of running processes to a server that plays ClickHouse (ship_server.py): what is hit is
# there once, also when the server is away meanwhile, and when the shipper is killed and starts
# again.
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1
cat >connects.py <<'PYTHON'
import socket, sys
socket.create_connection(("127.0.0.1", int(open(sys.argv[1]).read())), 1)
PYTHON
start_server() {
  python3 "$here/ship_server.py" "$work/db" "$work/port" 2>"$work/server.err" 3>&- 4<&- &
  server_pid=$!
  started $server_pid
  wait_for 60 python3 "$work/connects.py" "$work/port" ||
    fail "the server does not start: $(cat server.err)"
  url=http://127.0.0.1:$(cat port)
}
stop_server() {
  kill -9 $server_pid
  wait $server_pid 2>/dev/null
}
rows() { python3 "$here/ship_server.py" "$work/db" rows patchbay "$1"; }
# numbers TABLE : rows, different n, different rows by their key
numbers() {
  rows "$1" | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(len(rows), len({row["n"] for row in rows}),
      len({(row["host"], row["source"], row["block"], row["row"]) for row in rows}))'
}
has_numbers() { [[ $(numbers "$1" | cut -d' ' -f2) == "$2" ]]; }
who=(--all)
ship() { # OPTION…
  "$patchbay" ship --to "$url" "${who[@]}" --every 0.2 "$@" </dev/null 2>>ship.err 3>&- 4<&- &
  shipper=$!
  started $shipper
}
stop_ship() {
  kill -INT $shipper
  wait $shipper
}
# do_line LINE : the program does it.
do_line() {
  echo "$1" >&3
  read -r -t 60 answer <&4
  same "the program has done: $1" "done" "$answer"
}

start_server
start_driven PATCHBAY_TRACE_EVENT=app:hit hits
do_line "stat 0 300"
ship
check "what was in the rings comes" wait_for 60 has_numbers app__hit 300
do_line "stat 300 700"
check "and what is hit from then on" wait_for 60 has_numbers app__hit 1000
do_line "fork stat 1000 50"
check "and in a forked child" wait_for 60 has_numbers app__hit 1050

# --- the server is away
stop_server
do_line "stat 1050 950"
spooled() { ls "$PATCHBAY_DIR"/ship.spool/*/data; }
check "it waits in the spool" wait_for 60 spooled
start_server
check "and comes when the server is back" wait_for 60 has_numbers app__hit 2000

# --- the shipper is killed: with a segment that is open, and with the server away
kill -9 $shipper
wait $shipper 2>/dev/null
do_line "stat 2000 500"
ship
check "the next one goes on" wait_for 60 has_numbers app__hit 2500
stop_server
do_line "stat 2500 500"
check "it waits again" wait_for 60 spooled
kill -9 $shipper
wait $shipper 2>/dev/null
do_line "stat 3000 100"
start_server
ship
check "the next one ships the spool, and the rings" wait_for 60 has_numbers app__hit 3100
"$patchbay" ship --to "$url" --all 2>second.err && fail "two shippers have one spool"
has "the second one is told so" "$(cat second.err)" 'Another patchbay ship has the spool'

# --- the program ends
do_line "stat 3100 20"
exec 3>&- 4<&-
wait $pid
check "it is read to its end" wait_for 60 has_numbers app__hit 3120
check "Ctrl-C ends it" stop_ship
same "nothing is there twice" "3120 3120 3120" "$(numbers app__hit)"
same "of the program and its child" 2 "$(rows app__hit |
  python3 -c 'import json, sys; print(len({json.loads(line)["pid"] for line in sys.stdin}))')"
same "nothing was lost" "" "$(rows patchbay_losses)"
same "the spool is empty" 0 "$(find "$PATCHBAY_DIR/ship.spool" -name data | wc -l)"

# --- no room: the oldest is given up, and is a row
stop_server
rm -rf in out
start_driven PATCHBAY_TRACE_EVENT=app:hit hits
: >ship.err
who=(-p "$pid")
ship --spool-size 64K --spool small
for first in 0 3000 6000 9000; do
  do_line "stat $first 3000"
  wait_for 60 eval '(($(ls small/*/meta 2>/dev/null | wc -l) > '$first' / 3000))' ||
    fail "no segment for $first: $(cat ship.err)"
done
check "it says so" wait_for 60 grep -q 'the spool is full: [0-9]* events were given up' ship.err
start_server
exec 3>&- 4<&-
wait $pid
sum() {
  { rows app__hit; rows patchbay_losses; } | python3 -c '
import json, sys
shipped = lost = 0
for line in sys.stdin:
    row = json.loads(line)
    if "reason" in row:
        assert row["reason"] == "spool", row
        lost += row["lost"]
    elif row["pid"] == '$pid':
        shipped += 1
print(shipped + lost, lost > 0)'
}
check "shipped and lost are all" wait_for 60 eval '[[ $(sum) == "12000 True" ]]'
same "all of them" "12000 True" "$(sum)"
check "and it ends with the program" wait $shipper
finish
