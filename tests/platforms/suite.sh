#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands of the tool on the system that it stands in: prints for each its name, a tab and
# `ok`, or what was wrong. `table` beside this file runs it in several systems.
#
#   suite.sh PATCHBAY
set -u
pb=$1
work=$(mktemp -d)
export pb PATCHBAY_DIR=$work/run XDG_CACHE_HOME=$work/cache LC_ALL=C
mkdir -m 700 "$PATCHBAY_DIR"
cd "$work" || exit
background=()
# shellcheck disable=SC2317  # by the trap
cleanup() {
  ((${#background[@]} == 0)) || kill "${background[@]}" 2>/dev/null
  wait 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT

# t NAME STATUS REGEX COMMAND: exits with this status, and a line that it prints matches.
t() {
  local name=$1 status=$2 regex=$3 said got
  said=$(timeout 60 bash -c "$4" 2>&1 </dev/null)
  got=$?
  if [[ $got == "$status" ]] && grep -qE -- "$regex" <<<"$said"; then
    printf '%s\tok\n' "$name"
  else
    said=$(tail -n 2 <<<"$said" | tr '\n' ' ' | cut -c1-160)
    printf '%s\tstatus %s: %s\n' "$name" "$got" "$said"
  fi
}
# during SECONDS COMMAND…: until then it is asked to end, as by Ctrl-C.
during() { timeout --preserve-status -s INT "$@"; }
export -f during

cat >prog.c <<'C'
#include <stdlib.h>
#include <unistd.h>
struct point { int x, y; };
__attribute__((noinline)) int work(int n, const char* tag, struct point* at) {
  __asm__ volatile("" ::: "memory");
  return n * at->y + tag[0];
}
int main(int argc, char** argv) {
  struct point at = {1, 2};
  int sum = 0;
  for (int i = 0; i < atoi(argv[1]); i++) {
    sum += work(i, "tag", &at);
    if (argc > 2) usleep(1000);
  }
  return sum > 5 ? 7 : 0;
}
C
gcc -O2 -g prog.c -o prog 2>gcc.log || echo "no compiler: $(tail -n 1 gcc.log)"
gcc -O2 -g -static prog.c -o prog-static 2>>gcc.log
events='[1-9][0-9]* events'

t record 7 "3 events" "$pb record -e work -o w.dat -- ./prog 3"
t report 0 'work\(n=2, tag=' "$pb report -i w.dat"
t record-prototype 7 "3 events" "$pb record -e 'work(int n, string tag)' -o w2.dat -- ./prog 3"
t record-result 7 '3 events' "$pb record -e 'int sum = work(int n)' -o w3.dat -- ./prog 3"
t record-line 7 '3 events' "$pb record -e 'work:1 n tag' -o w4.dat -- ./prog 3"
t record-libc 0 "$events" "$pb record -e 'int fd = open(string path)' -e read -o p.dat -- \
  python3 -c 'print(open(\"/etc/hostname\").read())'"
t record-follow 0 'opendir\(path="?/usr' "$pb record -e 'opendir(string path)' -o l.dat -- \
  sh -c 'ls / | wc -l; ls /usr' >/dev/null; $pb report -i l.dat"
t report-processes 0 'ls /usr' "$pb report --processes l.dat"
t record-fork 5 "$events" "$pb record -e write -e fork -o f.dat -- \
  bash -c 'for i in 1 2 3; do (echo \$i); done; exit 5'"
t record-gcc 0 "$events" "$pb record -e 'exit(int c)' -o g.dat -- gcc -O1 prog.c -o p2"
t calls 7 'work\(0, "tag"' "$pb calls -e work -- ./prog 3"
t calls-count 7 'work' "$pb calls -c -e work -- ./prog 3"
t hist 0 'Hits: [1-9]|Totals' "$pb hist 'malloc(u64 size)' keys=size.log2 -- ls /"
t latency 7 'work' "$pb latency work -- ./prog 300"
t top 7 'work' "$pb top -l work -- ./prog 300"
t sql 0 'Hits: [1-9]' "$pb sql -e 'malloc(u64 size)' 'select size from malloc' -- ls /"
t sqlite 0 "$events" "$pb record -e sqlite3_step -e sqlite3_prepare_v2 -o s.dat -- \
  python3 -c 'import sqlite3; sqlite3.connect(\":memory:\").execute(\"select 6*7\").fetchall()'"
# libc-2.31.so before glibc 2.34
libc="-l ':mod:libc.so*' -l ':mod:libc-*'"
t function 0 "$events" "$pb record -t function $libc -o fn.dat -- ls /"
t graph 0 "$events" "$pb record -t function_graph $libc -o gr.dat -- \
  python3 -c 'print(sum(range(10)))'"
t replay 0 '\}' "$pb replay -i gr.dat"
t graph-all 7 "$events" "$pb record -t function_graph -o ga.dat -- ./prog 10"
t view 0 '.' "$pb view -i gr.dat -o v.html && ls -l v.html"
for format in perfetto chrome speedscope folded jsonl parquet sqlite perf pprof ctf; do
  t "export-$format" 0 '.' "$pb export --to $format -i w.dat -o ex.$format && ls -d ex.$format"
done
t list-functions 0 work "$pb list functions ./prog"
t probe-offset 0 "$events" "$pb record -e 'p:o libc:open+4 a=%di:x64' -e read -o po.dat -- \
  cat prog.c"
t probe-return 0 "$events" "$pb record -e 'r:got libc:read n=\$retval:s64' -o pr.dat -- cat prog.c"
t usdt 0 'gc__start' "$pb record -e 'sdt_python:gc*' -o u.dat -- \
  /usr/bin/python3 -c 'import gc; gc.collect()'; $pb report -i u.dat"
t node 0 "$events" "$pb record -e open -e read -o n.dat -- \
  node -e 'console.log(require(\"fs\").readFileSync(\"/etc/hostname\").length)'"
t static 7 '3 events' "$pb record -e 'work(int n)' -o st.dat -- ./prog-static 3"

# --- processes that run already

python3 -c 'import time
while True: time.sleep(0.01)' &
python=$!
./prog 1000000 slowly &
program=$!
redis-server --port 17791 --save '' >redis.log 2>&1 &
redis=$!
background=("$python" "$program" "$redis")
export python program redis
sleep 1
t attach-record 0 "$events" \
  "during 3 $pb record -p $python -e clock_nanosleep -e select -o a.dat"
t attach-function 0 "$events" "during 3 $pb record -p $program -e work -o a2.dat"
t attach-calls 0 'work\(' "during 3 $pb calls -e work -p $program"
t attach-hist 0 '[1-9]' "during 3 $pb hist 'work(int n)' keys=n.log2 -p $program"
t attach-redis 0 "$events" "during 3 $pb record -p $redis -e epoll_wait -o a3.dat"
t attach-graph 0 "$events" "during 3 $pb record -p $redis -t function_graph $libc -o a4.dat"
# Where the library is not installed the command says so.
t attach-view 0 'http://127|package libmicrohttpd12' "during 3 $pb view -p $program; true"
mkdir tree
t mount 0 'work\(' "$pb mount -p $program tree && echo 'work(int n)' >tree/function_events; \
  echo 1 >tree/events/functions/enable; sleep 0.5; cat tree/trace | tail -n 2; \
  echo 0 >tree/events/functions/enable; fusermount3 -u tree 2>/dev/null || umount tree"
t detach 0 '^$' "$pb detach $program $python $redis 2>&1 |
  grep -vE 'no agent|detached already'; echo"
t alive 0 alive "kill -0 $python && kill -0 $program && kill -0 $redis && echo alive"
