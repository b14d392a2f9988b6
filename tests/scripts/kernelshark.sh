#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# KernelShark's own library loads our files: the same calls, durations and events as in our report.
#   kernelshark.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc pkg-config
pkg-config --exists libkshark 2>/dev/null || skip "libkshark-dev, libjson-c-dev are not installed"
cd "$work" || exit
cat >rows.c <<'EOP'
#include <libkshark.h>
#include <stdio.h>
#include <stdlib.h>

/* The rows of KernelShark's table. */
int main(int argc, char **argv) {
  struct kshark_context *context = NULL;
  struct kshark_entry **rows = NULL;
  if (argc != 2 || !kshark_instance(&context)) return 2;
  int stream = kshark_open(context, argv[1]);
  if (stream < 0) return 1;
  ssize_t count = kshark_load_entries(context, stream, &rows);
  for (ssize_t i = 0; i < count; i++) {
    char *task = kshark_get_task(rows[i]), *event = kshark_get_event_name(rows[i]);
    char *info = kshark_get_info(rows[i]);
    printf("%s-%d [%03d] %lld %s: %s\n", task ? task : "?", rows[i]->pid, rows[i]->cpu,
           (long long)rows[i]->ts, event ? event : "?", info ? info : "");
    free(task);
    free(event);
    free(info);
  }
  return count > 0 ? 0 : 1;
}
EOP
# shellcheck disable=SC2046
gcc rows.c $(pkg-config --cflags libkshark) -lkshark -o rows 2>err ||
  skip "no program can be built with libkshark: $(head -n 1 err)"

for format in 7 6; do
  "$patchbay" record -q --format $format -o g.dat -t function_graph -l 'calls_*' -- \
    "$programs/graph_calls" >own 2>err || fail "record: $(cat err)"
  check "version $format: KernelShark opens it" ./rows g.dat >rows.txt 2>/dev/null
  same "version $format: each call is entered once" "$(sort own)" \
    "$(sed -nE 's/.*funcgraph_entry: .*\|  +calls_([a-z]+)\(.*/\1/p' rows.txt | sort | uniq -c |
      awk '{ print $2, $1 }')"
  # Of a leaf ours has one line, KernelShark two.
  durations() { sed -nE "s/.*$1.* ([0-9.]+) us +\|.*/\1/p" | sort -n; }
  same "version $format: each call lasts as long" \
    "$("$patchbay" report -i g.dat 2>/dev/null | durations 'funcgraph_[a-z]+:' | md5sum)" \
    "$(durations funcgraph_exit: <rows.txt | md5sum)"
  check "version $format: in order of time" sort -c -n -k3,3 rows.txt
done
has "tasks have their names" "$(cat rows.txt)" '^graph_calls-[0-9]+ \[[0-9]{3}\] '
"$patchbay" record -q -o f.dat -t function -l 'calls_*' -e 'fflush(x64 file)' -- \
  "$programs/graph_calls" >own 2>err || fail "record: $(cat err)"
./rows f.dat >rows.txt 2>/dev/null
same "function: each call is there" "$(sort own)" \
  "$(sed -nE 's/.*\/function: +calls_([a-z]+) .*/\1/p' rows.txt | sort | uniq -c |
    awk '{ print $2, $1 }')"
has "and a function event between them" "$(cat rows.txt)" ' functions/fflush: calls_end.*file='

# One file of several programs: each row has the thread, CPU, time and event of ours.
for format in 7 6; do
  "$patchbay" record -q --follow --format $format -o m.dat -e 'calls_middle(int n)' \
    -e 'calls_recurse(int n)' -e 'fflush(x64 file)' -- \
    sh -c "'$programs/graph_calls' >one & '$programs/graph_calls' >two; wait; ls / >three" 2>err ||
    fail "record: $(cat err)"
  check "version $format of several programs: KernelShark opens it" ./rows m.dat >rows.txt \
    2>/dev/null
  same "version $format: two programs have called" 2 \
    "$(sed -nE 's/^graph_calls-([0-9]+) .*calls_recurse: .*/\1/p' rows.txt | sort -u | grep -c .)"
  same "version $format: each call of both" "$(cat one two | grep -E '^(middle|recurse)' | sort)" \
    "$(sed -nE 's/^graph_calls-([0-9]+) .*calls_(middle|recurse): .*/\1 \2/p' rows.txt |
      awk '{ print $2 }' | sort | uniq -c | awk '{ print $2, $1 / 2; print $2, $1 / 2 }')"
  same "version $format: the rows are those of our report" \
    "$("$patchbay" report --json -i m.dat | python3 -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    print(row["comm"], row["pid"], row["cpu"], row["event"])' | sort | cksum)" \
    "$(sed -nE 's/^(.*)-([0-9]+) \[0*([0-9]+)\] [0-9]+ functions\/(\S+): .*/\1 \2 \3 \4/p' \
      rows.txt | sort | cksum)"
done
finish
