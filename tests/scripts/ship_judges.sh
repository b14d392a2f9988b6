#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Folders for object stores, `ship --to DIR/`, as DuckDB reads them: partitions are columns, counts,
# sums and texts are those of the recording. With clickhouse-server the same questions there give
# the same answers.
. "$(dirname "$0")/common.bash"
need python3 node
. "$here/parquet_readers.bash"
get_modules
[[ -n $modules ]] || skip "npm or its registry cannot be had: nobody reads the files"
cd "$work" || exit 1
cat >ask.mjs <<'NODE'
// node ask.mjs MODULES STATEMENT : a line a row, tabs between.
import { createRequire } from 'module';
const require = createRequire(process.argv[2] + '/');
const { DuckDBInstance } = require('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const answer = await connection.runAndReadAll(process.argv[3]);
for (const row of answer.getRows()) console.log(row.map(String).join('\t'));
NODE
ask() { node ask.mjs "$modules" "$1" 2>&1; }
files="read_parquet('$work/store/host=*/event=EVENT/date=*/hour=*/*.parquet',
  hive_partitioning = true)"
of() { echo "${files/EVENT/$1}"; }

"$patchbay" record -q -b 16M -e 'called(int n)' -e app:hit -o calls.dat -- \
  "$programs/hits" <<<$'call 0 6500\nstat 0 2500' >/dev/null 2>record.err
ship() { timeout 120 "$patchbay" ship "$@" </dev/null 2>ship.err; }
# A file of this machine's is nothing to the others.
alone() { ship --conf "" "$@"; }
for host in one "two words"; do
  check "host $host is shipped" alone --to store/ --host "$host" -i calls.dat
done
has "it says how much it was" "$(cat ship.err)" '9000 rows in [1-9][0-9]* blocks .* to store/'
same "no part of a file is left" "" "$(find store -name '*.part')"
same "folders are columns" $'one\tapp__hit\t2500\ntwo words\tapp__hit\t2500' \
  "$(ask "SELECT host, event, count(*) FROM $(of app__hit) GROUP BY ALL ORDER BY ALL")"
same "each call is there" $'one\t6500\t6500\t21121750\ntwo words\t6500\t6500\t21121750' \
  "$(ask "SELECT host, count(*), count(DISTINCT n), sum(n) FROM $(of functions__called)
    GROUP BY ALL ORDER BY ALL")"
same "texts" $'even\t2500\nodd\t2500' \
  "$(ask "SELECT word, count(*) FROM $(of app__hit) GROUP BY ALL ORDER BY ALL")"
same "when, and who" $'true\thits\t1' \
  "$(ask "SELECT bool_and(abs(epoch(time) - epoch(now()::TIMESTAMP)) < 3600), any_value(comm),
    count(DISTINCT pid) FROM $(of app__hit)")"
same "the day and the hour are the event's" 0 \
  "$(ask "SELECT count(*) FROM $(of app__hit) WHERE strftime(time, '%Y-%m-%d %H') !=
    concat(date, ' ', lpad(hour::VARCHAR, 2, '0'))")"
find store -name '*.parquet' | sort >before
check "it is shipped again" alone --to store/ --host one -i calls.dat
find store -name '*.parquet' | sort >after
same "and replaces what is there" "$(<before)" "$(<after)"
same "so that each row is there once" 5000 "$(ask "SELECT count(*) FROM $(of app__hit)")"

# --- the same questions to a server
if command -v clickhouse-server >/dev/null; then
  . "$here/clickhouse.bash"
  clickhouse_ports 1
  clickhouse_config 1
  clickhouse_start 1
  url=http://127.0.0.1:${http_port[1]}
  check "the server gets it, too" alone --to "$url" --host one -i calls.dat
  for question in 'count(*), sum(n), min(n), max(n)' 'sum(n * n), count(DISTINCT n % 7)'; do
    same "$question" "$(ask "SELECT $question FROM $(of functions__called) WHERE host = 'one'")" \
      "$(sql 1 "SELECT $question FROM patchbay.functions__called")"
  done
  same "by a text" \
    "$(ask "SELECT word, count(*), sum(n) FROM $(of app__hit) WHERE host = 'one' GROUP BY word
      ORDER BY word")" \
    "$(sql 1 "SELECT word, count(*), sum(n) FROM patchbay.app__hit GROUP BY word ORDER BY word")"
fi

# --- what patchbay.conf says
(umask 077 && printf '[ship]\nto = %s\nhost = by-conf\n' "$work/conf-store/" >ship.conf)
check "options come from [ship] of a file" ship --conf ship.conf -i calls.dat
check "and are used" test -d conf-store/host=by-conf/event=app__hit
check "the command line goes before them" ship --conf ship.conf --host here -i calls.dat
check "and is used" test -d conf-store/host=here

# --- where nothing can be written
touch file
alone --to file/x/ -i calls.dat && fail "a file is taken for a folder"
has "it says so" "$(cat ship.err)" 'file/x'
finish
