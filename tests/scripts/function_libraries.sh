#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All functions of real libraries under the function tracers: sqlite3 (the demo's queries) under
# function_graph, function, the profiler, and all three at once; python3 and a C++ program with all
# functions of everything, libc included. Same output and end as without; every entry has its exit
# or is open at the end; what was lost is counted; the graph's times are the program's own.
#   function_libraries.sh BUILD_DIR
# LIBRARIES_ROWS (5000) is the size of sqlite3's table. A row takes up to 70 KB of buffers, in the
# runtime directory's memory.
. "$(dirname "$0")/common.bash"
# shellcheck source=orders.bash
. "$here/orders.bash"
rows=${LIBRARIES_ROWS:-5000}
cd "$work" || exit

# number FILE EVENT : how many records of it a trace.dat has.
number() { "$patchbay" report -i "$1" --stat 2>/dev/null | awk -v e="$2" '$2 == e { print $1 }'; }
# balanced SENTENCE FILE : nothing lost, and as many exits as entries but for open calls.
balanced() {
  local entries exits open cut
  entries=$(number "$2" ftrace:funcgraph_entry)
  exits=$(number "$2" ftrace:funcgraph_exit)
  "$patchbay" graph -i "$2" >/dev/null 2>notes
  open=$(sed -nE 's/.*[^0-9]([0-9]+) calls? open at the end.*/\1/p' notes)
  cut=$(sed -nE 's/^patchbay graph: ([0-9]+) calls? ended.*/\1/p' notes)
  check "$1: some thousand calls ($entries)" test "${entries:-0}" -gt 1000
  same "$1: each entry has its exit, or is open" "$entries" "$((exits + ${open:-0} + ${cut:-0}))"
}

test_sqlite3() {
  need_program sqlite3 || return
  make_orders "$rows" 5000
  queries >queries.sql
  sqlite3 orders.db '.read queries.sql' >plain
  # All of it fits on one processor: the reader may come late, and the program may stay where it is.
  local tracer kb=$((rows * 16))
  ((kb > 8192)) || kb=8192
  for tracer in function_graph function; do
    "$patchbay" record -o $tracer.dat -t $tracer -b $kb -l ':mod:libsqlite3*' -- \
      sqlite3 orders.db '.read queries.sql' >out 2>err
    same "sqlite3, $tracer: exit status" 0 $?
    check "sqlite3, $tracer: its output" cmp plain out
    has "sqlite3, $tracer: nothing is lost" "$(cat err)" 'record: [0-9]{5,} events.*; lost 0 '
  done
  balanced "sqlite3" function_graph.dat
  same "function and function_graph have the same calls" \
    "$(number function_graph.dat ftrace:funcgraph_entry)" "$(number function.dat ftrace:function)"
  # With buffers that are too small for it: counted, and what is there is whole.
  "$patchbay" record -o small.dat -t function_graph -b 64 -l ':mod:libsqlite3*' -- \
    sqlite3 orders.db '.read queries.sql' >out 2>err
  check "sqlite3, small buffers: its output" cmp plain out
  same "sqlite3, small buffers: what is there and what is lost are all" \
    "$((2 * $(number function_graph.dat ftrace:funcgraph_entry)))" \
    "$(($(summary_events err) + $(summary_lost err)))"
  check "sqlite3, small buffers: it can be read" "$patchbay" replay -i small.dat >/dev/null 2>&1
}

# The shell's own clock around each statement, against what the graph says of it. Statements whose
# rows are few, so that nearly all of the time is the library's.
test_times() {
  need_program sqlite3 || return
  cat >timed.sql <<'SQL'
.timer on
select count(*), sum(amount) from orders a where note like '%7%' or note like '%order%9';
select count(*) from orders a join orders b on a.id = b.customer;
select count(*) from orders a join orders b on b.amount > a.amount where a.id % 50 = 0;
SQL
  # The shell's time holds also what happens between its clock and the library: a run in which
  # somebody else took the processor just there says nothing, so there are three.
  local own graph try
  for try in 1 2 3; do
    "$patchbay" record -q -o timed.dat -t function_graph -b $((rows * 16)) \
      -l 'sqlite3_step' -l 'sqlite3_prepare_v2' -- sqlite3 orders.db '.read timed.sql' >out 2>err
    own=$(awk '/^Run Time/ { sum += $4 * 1000000 } END { printf "%d", sum }' out)
    graph=$("$patchbay" report -i timed.dat --folded 2>/dev/null |
      awk '{ sum += $NF } END { printf "%d", sum / 1000 }')
    ((graph < own * 8 / 10 - 2000)) || break
  done
  # sqlite3 prints milliseconds, three statements.
  check "times: the graph's $graph us are within sqlite3's own $own us (run $try)" \
    test "$graph" -le $((own + 2000)) -a "$graph" -ge $((own * 8 / 10 - 2000))
}

# Driven through a pipe, so that all is set up while it waits.
test_at_once() {
  need_program sqlite3 || return
  mkfifo in
  LD_PRELOAD=$agent PATCHBAY_TRACE_INSTANCE=own sqlite3 -batch orders.db <in >out 2>&1 3>&- &
  local pid=$! file
  started $pid
  exec 3>in
  wait_for 20 "$patchbay" ls $pid || fail "sqlite3 has no agent"
  put() { check "$2 >$1" "$patchbay" write $pid "$1" "$2"; }
  put buffer_size_kb $((rows * 24))
  put instances/own/buffer_size_kb $((rows * 10))
  put set_ftrace_filter ':mod:libsqlite3*'
  put current_tracer function_graph
  put instances/own/set_ftrace_filter ':mod:libsqlite3*'
  put instances/own/current_tracer function
  put function_profile_enabled 1
  put set_ftrace_filter ':mod:libsqlite3*'
  cat queries.sql >&3
  echo "select 'the end';" >&3
  wait_for 120 grep -qx 'the end' out || fail "at once: no output"
  put tracing_on 0
  put instances/own/tracing_on 0
  put function_profile_enabled 0
  same "at once: nothing is lost" "0 0" "$(for file in per_cpu instances/own/per_cpu; do
    for cpu in $("$patchbay" ls $pid $file); do
      "$patchbay" cat $pid "$file/${cpu%/}/stats"
    done | awk '/overrun|dropped/ { n += $NF } END { print n + 0 }'
  done | xargs)"
  "$patchbay" extract -p $pid -o top.dat >/dev/null
  "$patchbay" extract -p $pid -B own -o own.dat >/dev/null
  for file in $("$patchbay" ls $pid trace_stat); do "$patchbay" cat $pid "trace_stat/$file"; done |
    awk '$2 ~ /^[0-9]+$/ { print $1, $2 }' >profile
  exec 3>&-
  wait $pid
  same "at once: exit status" 0 $?
  same "at once: its output" "$(cat plain)" "$(grep -vx 'the end' out)"
  # The pipe is read by the shell, whose functions are not traced, so all have the same calls.
  "$patchbay" report -i own.dat 2>/dev/null | sed -nE 's/.*: function: (.*) <-.*/\1/p' |
    sort | uniq -c | awk '{ print $2, $1 }' | sort >function.calls
  "$patchbay" graph -i top.dat --flat 2>/dev/null | awk '!/^#/ { print $NF, $5 }' |
    sort >graph.calls
  check "at once: there is something to compare" test "$(wc -l <function.calls)" -gt 100
  same "at once: function and function_graph have the same calls" \
    "$(sort function.calls | awk '{ n += $2 } END { print n, NR }')" \
    "$(awk '{ n += $2 } END { print n, NR }' graph.calls)"
  same "at once: so has the profiler" "$(awk '{ n += $2 } END { print n }' function.calls)" \
    "$(awk '{ n += $2 } END { print n }' profile)"
}

# all NAME FUNCTIONS COMMAND… : with all functions of all objects. The profiler sees so many at
# least (a program may end before anybody has looked).
all() {
  local name=$1 functions=$2 tracer plain status
  shift 2
  plain=$("$@" 2>&1 </dev/null)
  status=$?
  for tracer in function_graph function; do
    "$patchbay" record -o all.dat -t $tracer -- "$@" >out 2>err </dev/null
    same "$name, $tracer: exit status" $status $?
    same "$name, $tracer: output" "$plain" "$(cat out)"
    check "$name, $tracer: thousands of events" test "$(summary_events err)" -gt 2000
    same "$name, $tracer: what there is can be read" "$(summary_events err)" \
      "$("$patchbay" report -i all.dat --stat 2>/dev/null | awk '/ in all$/ { print $1 }')"
  done
  tracer=profiler
  "$patchbay" top --once -- "$@" >out 2>err </dev/null
  same "$name, top: the program's output" "$plain" "$(sed '/^# patchbay top/,$d' out)"
  check "$name, top: functions of all objects" test "$(wc -l <out)" -gt "$functions"
}
need_program() {
  command -v "$1" >/dev/null && return
  echo "SKIPPED: $1 is not installed"
  return 1
}
test_python() {
  [[ -x /usr/bin/python3 ]] || { echo "SKIPPED: there is no /usr/bin/python3"; return; }
  cat >work.py <<'PY'
import hashlib, json, os, re, sys, threading
results = []
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work(i):
    text = json.dumps({"a": [i] * 50, "b": {"c": re.sub("a+", "b", "banana" * i)}})
    results.append((i, fib(12), hashlib.sha256(text.encode()).hexdigest()))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
if child == 0: os._exit(fib(5))
results.append(os.waitpid(child, 0)[1])
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
results.append(deep(900))
for result in sorted(map(repr, results)): print(result)
sys.exit(5)
PY
  all python3 1000 /usr/bin/python3 work.py
}

test_sqlite3
test_times
test_at_once
test_python
all C++ 0 "$examples/cpp_shapes"
all "threads and exceptions" 0 "$programs/graph_calls"
finish
