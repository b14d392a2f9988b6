#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The USDT probes that Debian's packages bring along: python3 and postgres, recorded with their
# arguments while they run.
. "$(dirname "$0")/common.bash"
need readelf gcc
cd "$work" || exit 1

# probes FILE: sdt_PROVIDER:NAME of each note.
probes() {
  readelf -n "$1" 2>/dev/null |
    awk '$1 == "Provider:" { p = $2 } $1 == "Name:" { print "sdt_" p ":" $2 }' | sort -u
}
# wait_until COMMAND…: at most ten seconds.
wait_until() {
  local _
  for _ in {1..100}; do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

# --- python3: probes with semaphores. Only while somebody wants `line` it tells of every call.
python=$(readlink -f /usr/bin/python3)
probes "$python" >python.probes
if grep -q '^sdt_python:function__entry$' python.probes; then
  # Lines that no module of its own has.
  printf '\n%.0s' {1..70000} >calls.py
  cat >>calls.py <<'PYTHON'
import gc
def greet(who):
    return "hello " + who
for who in "xyz":
    greet(who)
gc.collect()
PYTHON
  "$patchbay" record -q -e sdt_python:function__entry -e sdt_python:line \
    -e sdt_python:gc__start -o py.dat -- "$python" calls.py 2>err
  same "python runs as ever" 0 $?
  "$patchbay" report -i py.dat >out
  # arg1 is the file, arg2 the function, arg3 the line.
  same "three calls of greet() with their arguments" 3 \
    "$(grep -cE 'function__entry: .*arg1="[^"]*calls\.py" arg2="greet" arg3=70002$' out)"
  same "and their lines" 3 "$(grep -cE ' line: .* arg3=70003$' out)"
  "$patchbay" record -q -e sdt_python:line -f 'arg2 == "greet"' -o py.dat -- \
    "$python" calls.py 2>err
  same "a filter takes a text" "3 3" "$("$patchbay" report -i py.dat >only
    echo "$(grep -c ' line: ' only) $(grep -c 'arg2="greet"' only)")"
  "$patchbay" hist sdt_python:line keys=arg2 -- "$python" calls.py >hist 2>err
  has "and so does a histogram" "$(cat hist)" '^\{ arg2: greet +\} hitcount: +3$'
  check "gc__start with its generation" grep -qE 'gc__start: .*arg1=2$' out
  LD_PRELOAD=$agent "$python" -c 'import time; time.sleep(60)' &
  pid=$!
  started $pid
  check "a python with the agent answers" wait_until "$patchbay" cat $pid available_events
  same "available_events has all of its probes" "$(grep '^sdt_python:' python.probes)" \
    "$("$patchbay" cat $pid available_events | grep '^sdt_python:' | sort)"
  check "the format says what the arguments are" grep -q 'field:s32 arg3;' \
    <("$patchbay" cat $pid events/sdt_python/function__entry/format)
  kill -9 $pid
  wait $pid 2>/dev/null
else
  echo "this python3 has no probes"
fi

# --- a probe that nobody knows: its argument is a number, and a probe on its place reads the text
cat >libshop.c <<'EOC'
#include <sys/sdt.h>
int sold(const char *what) {
  DTRACE_PROBE1(shop, sold, what);
  return what[0];
}
EOC
echo 'int sold(const char *what); int main(void) { return sold("pears") != 112; }' >shop.c
if gcc -O1 -shared -fPIC -o libshop.so libshop.c 2>err &&
  gcc -o shop shop.c -L. -lshop -Wl,-rpath,"$PWD" 2>err; then
  "$patchbay" record -q -e sdt_shop:sold -o shop.dat -- ./shop 2>err
  has "a number" "$("$patchbay" report -i shop.dat)" ' sold: .* arg1=0x[0-9a-f]+$'
  place=$(readelf -n libshop.so | sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p')
  "$patchbay" record -q -e "p:sold_what $PWD/libshop.so:$place what=+0(%di):string" -o shop.dat \
    -- ./shop 2>err
  has "the text by a probe of one's own" "$("$patchbay" report -i shop.dat)" \
    ' sold_what: .* what="pears"$'
else
  echo "there is no sys/sdt.h"
fi

# --- postgres: 71 probes, arguments in registers, in memory and behind symbols
postgres=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort | tail -1)
as_postgres=()
if [[ $(id -u) == 0 ]]; then
  as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
run_postgres() {
  mkdir -m 700 pg pg/run
  [[ $(id -u) == 0 ]] && chown -R postgres pg
  "${as_postgres[@]}" "$(dirname "$postgres")/initdb" -D "$work/pg/data" -A trust >log 2>&1 ||
    return 1
  printf 'select 41 + 1;\nselect 7;\n' |
    "${as_postgres[@]}" env LD_PRELOAD="$agent" PATCHBAY_DIR="$work/pg/run" \
      PATCHBAY_TRACE_EVENT=sdt_postgresql: \
      "$postgres" --single -D "$work/pg/data" postgres >out 2>err
}
probes "${postgres:-/nonexistent}" >postgres.probes
if grep -q '^sdt_postgresql:query__start$' postgres.probes; then
  check "postgres runs as ever" run_postgres
  check "and answers" grep -q '"42"' out
  check "its events can be recovered" "$patchbay" recover pg/run/* -o pg.dat >log
  "$patchbay" report -i pg.dat >report
  for event in query__start query__parse__start query__execute__done; do
    same "$event, once a query" 2 "$(grep -c " $event: " report)"
  done
  check "with the query's text" grep -qE 'query__start: .*arg1="select 41 \+ 1;' report
  same "and both of them in order" '"select 41 + 1;
"select 7;' "$(sed -n 's/.*query__start: .*arg1=\("select [^;]*;\).*/\1/p' report)"
  same "each lock that was taken was released" \
    "$(grep -cE ' lwlock__(acquire|condacquire|acquire__or__wait): ' report)" \
    "$(grep -c ' lwlock__release: ' report)"
  # The variable NBuffers.
  "$patchbay" report -i pg.dat | grep ' checkpoint__done: ' >line
  check "an argument behind a symbol" grep -qE 'arg2=[1-9][0-9]*' line
else
  echo "there is no postgres with probes"
fi
finish
