#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Three hosts ship to two servers of ClickHouse, which have a Distributed table over both: the
# counts are equal, also when one server is killed while it takes rows, and starts again.
. "$(dirname "$0")/common.bash"
need python3 curl
[[ -n ${PATCHBAY_CLICKHOUSE:-} ]] || command -v clickhouse-server >/dev/null ||
  skip "clickhouse-server is not installed"
. "$here/clickhouse.bash"
cd "$work" || exit 1

"$patchbay" record -q -b 64M -e 'called(int n)' -e app:hit -o calls.dat -- \
  "$programs/hits" <<<$'call 0 60000\nstat 0 5000' >/dev/null 2>record.err
recorded() { "$patchbay" report -i "$1" --stat 2>/dev/null | awk '/ in all$/ { print $1 }'; }
same "it records" 65000 "$(recorded calls.dat)"
clickhouse_ports 1 2
for number in 1 2; do clickhouse_config $number; done
for number in 1 2; do clickhouse_start $number; done
url() { echo "http://127.0.0.1:${http_port[$1]}"; }
ship() { timeout 120 "$patchbay" ship --cluster pair "$@" -i calls.dat </dev/null; }

# --- with a password, and without
echo 's3cret word' >password
chmod 600 password
as_user=(--user shipper --password-file password)
check "one host ships, with a password" ship --to "$(url 1)" "${as_user[@]}" --host one
echo wrong >password
ship --to "$(url 1)" "${as_user[@]}" --host never 2>ship.err && fail "a wrong password is taken"
has "and is told so" "$(cat ship.err)" 'the server answers 401: Code: 193'
check "another one ships" ship --to "$(url 1)" --host two

# --- the second server dies with the third host's rows on their way
ship --to "$(url 2)" --rows 500 --host three 2>three.err &
shipper=$!
started $shipper
calls='patchbay.functions__called'
has_rows() { [[ $(sql 2 "SELECT count() FROM $calls" 2>/dev/null) =~ ^[1-9] ]]; }
wait_for 60 has_rows || fail "nothing comes: $(cat three.err)"
clickhouse_kill 2
clickhouse_start 2
check "it is shipped across the server's death" wait $shipper
check "the same again" ship --to "$(url 2)" --rows 500 --host three
check "and of host one" ship --to "$(url 1)" --host one

for number in 1 2; do
  same "server $number: each host's calls" $'one\t60000\t60000\t1799970000
three\t60000\t60000\t1799970000
two\t60000\t60000\t1799970000' "$(sql $number 'SELECT host, count(), uniqExact(n), sum(n)
    FROM patchbay.functions__called_all GROUP BY host ORDER BY host')"
  same "server $number: all hits" $'15000\t5000\todd' "$(sql $number 'SELECT count(), uniqExact(n),
    maxIf(word, n = 4999) FROM patchbay.app__hit_all')"
done
same "each row is one row" 180000 \
  "$(sql 1 "SELECT uniqExact(host, source, block, row) FROM ${calls}_all")"
same "nothing is told to be lost" "" \
  "$(sql 1 "SELECT 1 FROM system.tables WHERE name = 'patchbay_losses'")"
same "who they are of" $'hits\t1\t1' \
  "$(sql 1 "SELECT any(comm), uniqExact(pid), uniqExact(boot_id) FROM $calls")"
same "when they were" 1 \
  "$(sql 1 "SELECT abs(toInt64(max(time_ns) / 1000000000) - toInt64(now())) < 3600 FROM $calls")"

# --- patchbay sql asks there
at=(sql --at "$(url 1)")
same "sql counts by a text" $'word\thitcount\neven\t7500\nodd\t7500' \
  "$("$patchbay" "${at[@]}" 'SELECT word FROM hit')"
same "and sums, with a filter" $'word\tsum\thitcount\neven\t60\t15' \
  "$("$patchbay" "${at[@]}" "SELECT word, CAST(n AS _COUNTER_) AS sum FROM app.hit
    WHERE n < 10 AND word = 'even'")"
"$patchbay" "${at[@]}" 'SELECT a.n FROM hit AS a JOIN called AS b ON a.n = b.n' 2>sql.err &&
  fail "a JOIN is asked there"
has "it says what cannot be asked" "$(cat sql.err)" 'JOIN pairs events as they happen'
has "with its place" "$(cat sql.err)" '^ *\^'
finish
