#!/bin/bash
# SPDX-License-Identifier: MIT
# patchbay merge: programs that were recorded apart, as one recording: counts, order, names (also of
# one address in two programs), trace-cmd's reading, processes, filters, bad input. $1: the build.
. "$(dirname "$0")/common.bash"
need g++ python3
cd "$work" || exit 1

# --- two programs that are not position-independent, with other functions at the same addresses
cat >first.cc <<'EOC'
#include <unistd.h>
extern "C" __attribute__((noinline)) int often(int n) { asm volatile(""); return n + 1; }
extern "C" __attribute__((noinline)) int seldom(int n) { asm volatile(""); return n + 2; }
int main() {
  int sum = 0;
  for (int i = 0; i < 3000; i++) {
    sum += often(i);
    if (i % 100 == 0) sum += seldom(i), usleep(500);
  }
  return sum == 7;
}
EOC
sed 's/often/busily/g; s/seldom/rarely/g; s/3000/2000/' first.cc >second.cc
for name in first second; do
  check "$name is compiled" g++ -O1 -no-pie -fno-pie -o $name $name.cc
done
same "two functions have one address" "$(nm first | awk '$3 == "often" { print $1 }')" \
  "$(nm second | awk '$3 == "busily" { print $1 }')"
"$patchbay" record -q -o first.dat -e 'often(int n)' -e 'seldom(int n)' -- ./first 2>first.err &
one=$!
"$patchbay" record -q -o second.dat -e 'busily(int n)' -e 'rarely(u64 n)' -- ./second 2>second.err &
two=$!
check "the first one is recorded" wait $one
check "the second one is recorded" wait $two
said=$("$patchbay" merge first.dat second.dat -o both.dat 2>merge.err)
has "merge says what it wrote" "$said" '^both.dat: 5050 events of 2 recordings, .*B$'
has "… and that names differ" "$(cat merge.err)" 'different functions in different processes'

report=$("$patchbay" report both.dat)
same "events of the first" 3030 "$(grep -cE 'first-.* main->(often|seldom)\(' <<<"$report")"
same "events of the second" 2020 "$(grep -cE 'second-.* main->(busily|rarely)\(' <<<"$report")"
same "no other lines" 5050 "$(grep -vc '^#' <<<"$report")"
same "the order is that of time" "" \
  "$(grep -oE ' [0-9]+\.[0-9]{6}: ' <<<"$report" | sort -c -n 2>&1)"
for name in first second; do
  same "the lines of $name are those of its own recording" \
    "$("$patchbay" report $name.dat | grep -v '^#' | sed 's/ [0-9.]*: / /' | cksum)" \
    "$(grep -E "^ *$name-" <<<"$report" | sed 's/ [0-9.]*: / /' | cksum)"
done
has "--stat sums the statistics" "$("$patchbay" report --stat both.dat)" '^ *5050  in all$'

# --- the same in other readers
same "--exe" 2020 "$("$patchbay" report --exe second both.dat | grep -vc '^#')"
same "--exe with a path" 3030 "$("$patchbay" report --exe "$work/fir*" both.dat | grep -vc '^#')"
same "--comm" 2020 "$("$patchbay" report --comm second both.dat | grep -vc '^#')"
pid=$("$patchbay" report both.dat | sed -n 's/^ *second-\([0-9]*\) .*/\1/p;T;q')
same "--tree" 2020 "$("$patchbay" report --tree "$pid" both.dat | grep -vc '^#')"
same "--pid" 2020 "$("$patchbay" report --pid "$pid" both.dat | grep -vc '^#')"
same "export" "20 30 2000 3000" "$("$patchbay" export --to jsonl -o - both.dat 2>/dev/null |
  grep -oE '"(often|seldom|busily|rarely)' | sort | uniq -c | awk '{ print $1 }' | sort -n | xargs)"
processes=$("$patchbay" report --processes both.dat)
has "--processes: the first" "$processes" "^ *[0-9]+ .* 3030 +0  $work/first$"
has "--processes: the second" "$processes" "^ *$pid .* 2020 +0  $work/second$"
has "--processes of one recording" "$("$patchbay" report --processes first.dat)" \
  '^ *[0-9]+ .* 3030 +0  first$'

# --- calls: functions that have the same address in two programs
check "a graph of the first" "$patchbay" record -q -t function_graph -l often -l seldom \
  -o first.graph -- ./first
check "a graph of the second" "$patchbay" record -q -t function_graph -l busily -l rarely \
  -o second.graph -- ./second
check "graphs are merged" "$patchbay" merge second.graph first.graph -o graph.dat 2>graph.err
folded=$("$patchbay" report --folded graph.dat | awk '{ $NF = ""; print }' | sort | xargs)
same "--folded has all four functions" "busily often rarely seldom" "$folded"
graph=$("$patchbay" graph -i graph.dat)
for row in 'often 3000' 'seldom 30' 'busily 2000' 'rarely 20'; do
  read -r name count <<<"$row"
  has "graph: $name" "$graph" "(^|[^0-9])$count .*[^a-z]$name\$"
done
by_exe=$("$patchbay" graph --by exe --flat -i graph.dat | grep -E '^# program|often|busily')
same "graph --by exe" "$work/first often $work/second busily" \
  "$(sed 's/^# program: //; s/.* //' <<<"$by_exe" | xargs -n 2 | sort | xargs)"
refused_by=$("$patchbay" graph --by color -i graph.dat 2>&1)
has "graph --by color" "$refused_by" '--by takes exe, comm, pid or tid'
same "replay" "3000 30 2000 20" "$("$patchbay" replay graph.dat |
  awk '/often/ { a++ } /seldom/ { b++ } /busily/ { c++ } /rarely/ { d++ }
    END { print a, b, c, d }')"

# --- trace-cmd
if command -v trace-cmd >/dev/null; then
  trace-cmd report -i both.dat 2>/dev/null >theirs
  same "trace-cmd shows as many events" 5050 "$(grep -c -- '->' theirs)"
  same "… of the first with the same texts" \
    "$(grep -E '^ *first-' <<<"$report" | sed 's/.*->[a-z]*(//' | cksum)" \
    "$(grep -E '^ *first-' theirs | sed 's/.*->[a-z]*+0x0(//' | cksum)"
  same "… and the order" "" "$(grep -oE ' [0-9]+\.[0-9]{6}: ' theirs | sort -c -n 2>&1)"
  check "version 6 is merged" "$patchbay" merge --format 6 first.dat second.dat -o six.dat 2>six.err
  same "trace-cmd reads version 6" 5050 "$(trace-cmd report -i six.dat 2>/dev/null |
    grep -c -- '->')"
  same "… with the same lines" "$(cksum <theirs)" \
    "$(trace-cmd report -i six.dat 2>/dev/null | cksum)"
fi

# --- other definitions of one name
"$patchbay" record -q -o third.dat -e 'often(u64 n, int m)' -- ./first 2>third.err
check "they are merged" "$patchbay" merge first.dat third.dat -o names.dat 2>names.err
has "… and it is said" "$(cat names.err)" 'functions:often has several definitions'
same "both are shown as they were recorded" "3000 3000" "$("$patchbay" report names.dat |
  awk '/often\(n=[0-9]*\)/ { a++ } /often\(n=[0-9]*, m=/ { b++ } END { print a, b }')"

# --- a merged one again
check "a merged recording is merged" "$patchbay" merge third.dat both.dat -o again.dat 2>again.err
same "all processes are in it" "2020 3000 3030" "$("$patchbay" report --processes again.dat |
  awk 'NR > 1 { print $5 }' | sort | xargs)"

# --- bad input
refused() {  # STATUS WHAT REGEX ARGUMENTS…
  local status=$1 what=$2 regex=$3 got out
  shift 3
  out=$("$patchbay" merge "$@" 2>&1)
  got=$?
  same "$what: the exit status" "$status" $got
  has "$what: the sentence" "$out" "$regex"
}
echo text >text.dat
head -c 5000 first.dat >cut.dat
head -c $(($(stat -c %s second.dat) - 4096)) second.dat >short.dat
cp first.dat kept.dat
refused 2 "no files" 'Recordings are needed' -o x.dat
refused 2 "no output" 'output is needed' first.dat
refused 2 "standard output" 'standard output' first.dat -o -
refused 1 "a file that is not there" 'No such file' first.dat none.dat -o x.dat
refused 1 "a file that is none" 'not a trace.dat' first.dat text.dat -o x.dat
refused 1 "the same file twice" 'named twice' first.dat ./first.dat -o x.dat
refused 1 "an output that is an input" 'name another output' first.dat second.dat -o first.dat
check "the input is as it was" cmp first.dat kept.dat
check "no output is left" test ! -e x.dat
"$patchbay" merge cut.dat second.dat -o x.dat >cut.out 2>&1
check "a file without its pages is refused or read" test $? -le 1
has "a file without its last page" "$("$patchbay" merge first.dat short.dat -o x.dat 2>&1)" \
  'events of 2 recordings'
python3 - first.dat other.dat <<'EOP'
import sys
data = open(sys.argv[1], "rb").read()
at = data.index(b"Linux ")
open(sys.argv[2], "wb").write(data[:at] + b"Linxx " + data[at + 6:])
EOP
refused 1 "another machine" 'two machines' other.dat second.dat -o x.dat
finish
