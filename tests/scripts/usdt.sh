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

  # --- floating-point numbers; what one place has and another has not; a name with a dash
  cat >sale.c <<'EOC'
#include <sys/sdt.h>
#define KEPT __attribute__((noipa))
KEPT void fire(double d, float f, int i) { STAP_PROBE3(shop, sale, d, f, i); }
KEPT void one(int i) { STAP_PROBE1(shop, places, i); }
KEPT void two(int i, long j) { STAP_PROBE2(shop, places, i, j); }
void late(int n);
__asm__(".text\nlate: nop\nret\n"
        ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8, 2f - 1f, 3\n"
        ".asciz \"stapsdt\"\n1: .8byte late, 0, 0\n.asciz \"shop\"\n.asciz \"late-sale\"\n"
        ".asciz \"-4@%edi 1@%dh\"\n2: .balign 4\n.popsection");
int main(void) {
  fire(1.5, -2.25f, 7);
  fire(100, 0.5f, -8);
  one(1), two(2, 3), late(4);
}
EOC
  check "sale.c" gcc -O2 -no-pie -o sale sale.c
  "$patchbay" record -q -e 'sdt_shop:*' -o sale.dat -- ./sale 2>err
  arguments() { "$patchbay" report -i sale.dat "$@" | grep -oE '[a-z_]+: \(.*' | sed 's/(.*) //'; }
  same "their arguments" 'sale: arg1=1.5 arg2=-2.25 arg3=7
sale: arg1=100 arg2=0.5 arg3=-8
places: arg1=1 arg2=?
places: arg1=2 arg2=3
late__sale: arg1=4 arg2=?' "$(arguments)"
  same "a filter" 'sale: arg1=100 arg2=0.5 arg3=-8' "$(arguments -f 'arg2 < 1 && arg1 > 1.5')"
  same "what is not there is no number" 'places: arg1=2 arg2=3' \
    "$(arguments -f 'arg2 >= 0' | grep places)"
  "$patchbay" record -q -e sdt_shop:places -f 'arg2 != 9' -o some.dat -- ./sale 2>err
  same "nor while it is recorded" 1 "$("$patchbay" report -i some.dat | grep -c places)"
  same "JSON" '"arg2":null "arg2":3' "$("$patchbay" report --json -i sale.dat | grep places |
    grep -oE '"arg2":[a-z0-9]+' | xargs -d '\n')"
  same "jsonl" '"arg2":null "arg2":3' "$("$patchbay" export --to jsonl -i sale.dat -o - 2>err |
    grep places | grep -oE '"arg2":[a-z0-9]+' | xargs -d '\n')"
  "$patchbay" hist sdt_shop:places keys=arg2 -- ./sale >out 2>err
  has "a key that is not everywhere" "$(cat err)" 'Not every place of this USDT probe'
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
