#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The recipes of docs/manual/cookbook.md where what they print can be counted: each is one command,
# and its numbers are those of the program. readme.sh runs the commands of the page itself.
#   cookbook.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need g++ python3 awk
source=$(cd "$here/../.." && pwd)
cd "$work" || exit
g++ -std=c++20 -g -O1 -o desk "$source/examples/order_desk.cc" -pthread || {
  fail "the desk does not compile"
  finish
}
# Three threads, five rounds: 15 orders, 15 that are late, 15 reports, 15 of nothing.
stripped() { sed -E 's/^\[[0-9]+\] //; s/ <[0-9.]+ ms>$//' "$1"; }

# --- which statement takes the time, of a python3 that gets the library by dlopen()
statements=$source/examples/order_desk.py
slow_sql() {
  "$patchbay" latency --key stmt --by sql \
    --named 'int rc = libsqlite3:sqlite3_prepare_v2(NULL, string sql, NULL, out x64 stmt[0])' \
    'libsqlite3:sqlite3_step(x64 stmt)' -- /usr/bin/python3 "$statements"
}
if /usr/bin/python3 -c 'import sqlite3' 2>/dev/null; then
  slow_sql >sql 2>err || fail "slowest SQL: $(cat err)"
  # A row and the end; which one takes longest is the machine's business.
  has "the slow statement" "$(cat sql)" \
    '^select count\(\*\) from t x, t y where x\.a % 100 = .*: 2 times, [0-9.]+ m?s, '
  same "each row is a step" "3000 times" \
    "$(sed -n 's/^insert into t values (?, ?): \([0-9]* times\),.*/\1/p' sql)"
  # A row and the end, of a statement that python keeps and names once.
  same "a statement that was prepared once and used again" "10 times" \
    "$(sed -n 's/^select sum(a) from t where b = ?: \([0-9]* times\),.*/\1/p' sql)"
  # The name alone: the library that has it is waited for.
  "$patchbay" calls -o lines -e sqlite3_step -- /usr/bin/python3 "$statements" 2>err
  has "a name of a library that comes later" "$(cat lines)" \
    '^sqlite3_step\(0x[0-9a-f]+\) = SQLITE_(ROW|DONE) <'
  has "that it waits is said" "$(cat err)" \
    'sqlite3_step\(\) waits for libsqlite3\.so\.0, which the program does not have yet'
  "$patchbay" record -q -o t.dat -e sqlite3_step -- /usr/bin/python3 "$statements" 2>err
  same "the same recorded" "$(grep -c sqlite3_step lines)" "$(count_of t.dat sqlite3_step)"
  "$patchbay" calls -o lines -e sqlite3_step -e getenv -- /usr/bin/python3 -c 1 2>err
  has "what never came is said" "$(cat err)" "'libsqlite3:sqlite3_step': libsqlite3 was not loaded"
  has "also where other calls are shown" "$(cat lines)" '^getenv\('
  "$patchbay" record -q -o t.dat -e sqlite3_step -- /usr/bin/python3 -c 1 2>err
  has "record says it, too" "$(cat err)" "sqlite3_step.* no library libsqlite3 was ever loaded"
else
  echo "SKIPPED: python3 has no sqlite3"
fi

# --- who throws, and what
"$patchbay" calls -k -o lines -e __cxa_throw -- ./desk >out 2>err
same "each exception with its type" "15 TooLate
15 std::invalid_argument" "$(stripped lines |
  sed -n 's/^__cxa_throw(0x[0-9a-f]*, \([A-Za-z_:]*\), .*/\1/p' | sort | uniq -c | sed 's/^ *//')"
same "and who has thrown it" 30 "$(grep -cE '^ +order\+0x' lines)"
same "nothing is unfinished" 0 "$(grep -c 'unfinished\|no return' lines)"

"$patchbay" calls -o lines -e printf -- ./desk >out 2>err
same "what was printed, and of what" 'printf("%d left\n", 925) = 9' "$(stripped lines)"

"$patchbay" calls -o lines -e order -- ./desk >out 2>err
same "a call says which exception has left it" 15 \
  "$(grep -c 'order("icecream", \[1\]) = ? <left by exception TooLate: sold out>$' lines)"

# --- large blocks of malloc(), with the way there
"$patchbay" hist 'malloc(size_t size)' keys=common_stacktrace vals=size \
  'if size > 1000000' -- ./desk >hist 2>err
has "all of them" "$(cat hist)" '^\} hitcount: +15  size: +31457280$'
has "from here" "$(cat hist)" '^ +report\+0x'

# --- locks by their names
"$patchbay" latency pthread_mutex_lock --by mutex -- ./desk >locks 2>err
has "a variable of the program" "$(cat locks)" '^orders_mutex: 15 times, '
has "a static one" "$(cat locks)" '^stock_mutex: 30 times, '
"$patchbay" calls -o lines -e pthread_mutex_lock -- ./desk >out 2>err
same "a pointer to a variable has its name" "15 30" "$(stripped lines |
  awk '/^pthread_mutex_lock\(&orders_mutex\) = 0$/ { a++ } /\(&stock_mutex\) = 0$/ { b++ }
    END { print a, b }')"
"$patchbay" record -q -o t.dat -e 'pthread_mutex_lock(symbol mutex)' -- ./desk >out 2>err
same "in a report" 15 "$("$patchbay" report -i t.dat | grep -c '(mutex=orders_mutex+0x0/0x28)')"

# --- how long requests take, by their text
"$patchbay" latency handle --by request -- ./desk >requests 2>err
for request in /order/pears /order/icecream /report /; do
  has "the requests $request" "$(cat requests)" "^$request: 15 times, "
done

# --- objects
"$patchbay" calls -o lines -e order -e take_from_stock -- ./desk >out 2>err
same "strings and vectors" "15 order(\"icecream\", [1])
15 order(\"pears\", [2, 3])" "$(stripped lines | grep -E '^order\("[a-z]' |
  sed 's/) = .*/)/; s/ <unfinished.*//' | sort | uniq -c | sed 's/^ *//')"
if command -v rustc >/dev/null &&
  rustc -g -C opt-level=1 -o desk_rs "$source/examples/order_desk.rs" 2>err; then
  "$patchbay" calls -o lines -e order -- ./desk_rs >out 2>err
  same "a program in Rust" 'order("pears", [2, 3], "order of pears") = 5
order("apples", [1], "order of apples") = 1' "$(stripped lines)"
else
  echo "SKIPPED: there is no rustc"
fi

# --- what the program does, from above
"$patchbay" top --once -- ./desk >top 2>err
has "functions by time" "$(cat top)" '^ +60 +[0-9]+ .* handle$'
"$patchbay" calls -t -o lines -e 'desk:*' -- ./desk 1 >out 2>err
has "a tree of a request" "$(stripped lines)" '^ *handle\("/order/pears"\) \{$'
has "with what it calls" "$(stripped lines)" '^ +take_from_stock\(2\) = [0-9]+$'
same "a glob means the program's own functions" "" \
  "$(grep -E 'frame_dummy|tm_clones|__do_global' lines)"

# --- what is never freed
cat >leaks.awk <<'AWK'
{ sub(/^\[[0-9]+\] /, "") }
/^malloc/ { split($0, part, /[()= ]+/); size[part[3]] = part[2] }
/^free/ { split($0, part, /[()]/); delete size[part[2]] }
END { for (address in size) count[size[address]]++
  for (bytes in count) print count[bytes], "blocks of", bytes }
AWK
"$patchbay" calls -o lines -e malloc -e free -- ./desk >out 2>err
has "each order that was kept" "$(awk -f leaks.awk lines)" '^15 blocks of 24$'
finish
