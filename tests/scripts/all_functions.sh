#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every function of a library enabled together, under the library's own workload: nothing crashes,
# the program's output stays the same, and at least 97 % of the functions of 5 bytes or more are
# patched by a jump or sled.
. "$(dirname "$0")/common.bash"
need nm python3

# definitions LIBRARY PREFIX : `PREFIX:name()` for each exported function, one a line.
definitions() {
  nm -D --defined-only "$1" | awk '$2 == "T" || $2 == "t" || $2 == "i" || $2 == "W" { print $3 }' |
    sed 's/@.*//' | sort -u | sed "s/.*/$2:&()/"
}

# all_on NAME LIBRARY PREFIX COMMAND… ; the definitions go in pieces that fit into an environment.
all_on() {
  local name=$1 library=$2 prefix=$3 plain status piece with stamp
  shift 3
  [[ -r $library ]] || { echo "SKIPPED: $name: no $library"; return; }
  rm -f "$work"/piece.*
  definitions "$library" "$prefix" | split -C 100k - "$work/piece."
  plain=$("$@" 2>&1 </dev/null)
  status=$?
  for piece in "$work"/piece.*; do
    rm -rf "$work/all" && mkdir -m 700 "$work/all"
    stamp=$(date +%s%N)
    with=$(PATCHBAY_DIR=$work/all PATCHBAY_FUNCTION_EVENTS=$(cat "$piece") \
      PATCHBAY_TRACE_EVENT='functions:*' LD_PRELOAD=$agent "$@" 2>"$work/err" </dev/null)
    same "$name: exit status" $status $?
    same "$name: output" "$(normal "$plain")" "$(normal "$with")"
    echo "$name: $(wc -l <"$piece") functions, $((($(date +%s%N) - stamp) / 1000000)) ms," \
      "$(grep -c . "$work/err") lines on stderr"
    head -n 2 "$work/err" | cut -c1-200 | sed 's/^/  | /'
    "$patchbay" recover "$work/all" -o "$work/t.dat" >/dev/null 2>&1
    check "$name: events were recorded" test "$(events_of "$work/t.dat" | wc -l)" -gt 0
  done
}
# openssl's figures differ from run to run; its words do not.
normal() {
  sed -E '/^Doing|^built|^options|^compiler|^CPUINFO|^version|^The .num/d
    /duration|load avg/d
    s/[0-9.k ]+/ /g' <<<"$1"
}
library_path() { ldconfig -p | awk -v n="$1" '$1 == n { print $NF; exit }'; }

cat >"$work/queries.sql" <<'SQL'
create table orders(id integer primary key, customer int, amount real, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into orders select i, i % 97, i * 0.25, 'note ' || i from n;
create index by_customer on orders(customer);
select customer, count(*), sum(amount) from orders group by customer order by 3 desc limit 5;
select count(*) from orders a join orders b on a.id = b.customer where a.note like '%7%';
select json_object('a', json_array(1, 2)), date('2020-01-31', '+1 month'), printf('%08.3f', 3.14);
update orders set amount = amount * 1.1 where customer = 13; delete from orders where id % 3 = 0;
vacuum; pragma integrity_check;
SQL
if command -v sqlite3 >/dev/null; then
  all_on libsqlite3 "$(library_path libsqlite3.so.0)" libsqlite3 \
    sqlite3 :memory: ".read $work/queries.sql"
  all_on libc "$(library_path libc.so.6)" libc sqlite3 :memory: ".read $work/queries.sql"
fi
if command -v openssl >/dev/null; then
  all_on libcrypto "$(library_path libcrypto.so.3)" libcrypto \
    openssl speed -seconds 1 sha256 aes-128-cbc
fi
if /usr/bin/python3 -c 'import test.test_json' 2>/dev/null; then
  all_on python3 /usr/bin/python3 "$(basename "$(readlink -f /usr/bin/python3)")" \
    /usr/bin/python3 -m test -q test_json test_re
  all_on python3-libc "$(library_path libc.so.6)" libc /usr/bin/python3 -m test -q test_json test_re
else
  echo "SKIPPED: python3: its own tests (libpython3.11-testsuite) are not installed"
fi
all_on libstdc++ "$(library_path libstdc++.so.6)" libstdc++ "$examples/cpp_shapes"
finish
