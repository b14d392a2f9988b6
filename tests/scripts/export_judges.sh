#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Exports with columns against the programs that they are for: each event, each field and each stack
# as report --json has them. Parquet by DuckDB, ClickHouse (chdb) and hyparquet, SQLite by sqlite3,
# perf.data by perf and libtraceevent, CTF by babeltrace2, pprof by go tool pprof. The readers of
# Parquet come from npm, once, into a folder of this user's below /tmp. ClickHouse has 550 MB and
# judges only where it is asked for. speedscope.app as chromium runs it, from npm, too.
#   [EXPORT_CHDB=1] export_judges.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3 sqlite3 perf babeltrace2 go node
judges=$here/../export
export HOME=$work # perf and go keep things there
for python in /usr/bin/python3 python3 ""; do
  [[ -z $python ]] && skip "python3-bt2 is not installed"
  "$python" -c 'import bt2' 2>/dev/null && break
done

. "$here/parquet_readers.bash"
get_modules
readers=()
if [[ -z $modules ]]; then
  echo "SKIPPED in part: npm or its registry cannot be had: Parquet is NOT judged by its readers"
else
  readers=(duckdb ${EXPORT_CHDB:+chdb} hyparquet)
fi

# Sets speedscope to its page; empty: it cannot be had.
get_speedscope() {
  local folder=/tmp/patchbay_speedscope.$UID
  speedscope=
  command -v chromium >/dev/null || return
  mkdir -m 700 "$folder" 2>/dev/null
  [[ -O $folder && ! -L $folder ]] || folder=$work/speedscope
  mkdir -p "$folder"
  exec 9>"$folder/lock"
  flock 9
  [[ -e $folder/complete ]] || (
    cd "$folder" && echo '{}' >package.json &&
      timeout 300 npm install --cache "$folder/cache" --no-audit --no-fund --ignore-scripts \
        speedscope@1.25.0 >npm.log 2>&1 && rm -rf cache && touch complete
  )
  exec 9>&-
  [[ ! -e $folder/complete ]] ||
    speedscope=$folder/node_modules/speedscope/dist/release/index.html
}
get_speedscope
[[ $speedscope ]] ||
  echo "SKIPPED in part: no chromium, or no npm: speedscope's importer has NOT judged anything"

# agrees WHAT COMMAND… : a comparison prints how much was compared, or what differs.
agrees() {
  local what=$1 said
  shift
  checks=$((checks + 1))
  if said=$("$@" 2>&1); then
    echo "$what: $said"
  else
    fail "$what differs from report"
    head -n 12 <<<"$said" | cut -c1-300 | sed 's/^/  | /'
  fi
}
export_as() {
  "$patchbay" export --to "$1" -i "$work/$2.dat" -o "$work/$2.$1" 2>"$work/err" ||
    fail "$2 is not exported to $1: $(cat "$work/err")"
}
judge_parquet() {
  local reader
  export_as parquet "$1"
  for reader in "${readers[@]}"; do
    node "$judges/read_parquet.mjs" "$modules" "$reader" "$work/$1.parquet" >"$work/rows" \
      2>"$work/err" || fail "$reader does not read $1: $(head -n 3 "$work/err")"
    agrees "$1: $reader" python3 "$judges/tables.py" parquet "$work/rows" "$work/$1.json"
  done
}
judge_others() {
  export_as sqlite "$1"
  agrees "$1: sqlite3" python3 "$judges/tables.py" sqlite "$work/$1.sqlite" "$work/$1.json"
  export_as ctf "$1"
  agrees "$1: babeltrace2" "$python" "$judges/tables.py" ctf "$work/$1.ctf" "$work/$1.json"
  export_as perf "$1"
  PERF_ROWS=$work/rows perf script -i "$work/$1.perf" -s "$judges/perf_rows.py" >/dev/null 2>&1
  agrees "$1: perf script" python3 "$judges/tables.py" perf "$work/rows" "$work/$1.json"
}
judge_pprof() {
  export_as pprof "$1"
  "$patchbay" report --folded -i "$work/$1.dat" >"$work/folded" 2>/dev/null
  go tool pprof -raw "$work/$1.pprof" >"$work/raw" 2>/dev/null
  agrees "$1: pprof" python3 "$judges/tables.py" pprof "$work/raw" "$work/folded"
}
judge_speedscope() {
  [[ $speedscope ]] || return 0
  export_as speedscope "$1"
  agrees "$1: speedscope" node "$judges/speedscope.mjs" "$speedscope" "$work/$1.speedscope" \
    "$work/page.js"
}
# recording NAME OPTION… : $work/NAME.dat and what report says of it.
recording() {
  local name=$1
  shift
  "$patchbay" record -q -o "$work/$name.dat" "$@" >/dev/null 2>"$work/err"
  said_of "$name"
}
said_of() {
  "$patchbay" report --json -i "$work/$1.dat" >"$work/$1.json" 2>"$work/$1.losses"
  check "$1: there are events" test -s "$work/$1.json"
}

recording calls -b 8192 -e 'two_numbers(int a, u8 b)' -e 'a_string(string s | char[6] head[0])' \
  -e 'eight_arguments(s8 a, x8 b, u16 c, NULL, unsigned long e, short f)' -- "$programs/calls"
# More threads than processors: some stacks do not stand behind their events (docs/export.md).
recording stacks -b 8192 -O userstacktrace -e 'work(int thread, long i)' -- \
  "$examples/threads" 3 500
recording arrays -e 'do_irq(symbol ip[16] | x64[6] irq_stack[16])' -- "$examples/irq_stack"
recording graph -b 8192 -t function_graph -- "$programs/graph_calls"
recording lossy -b 64 -e 'work(int thread, long i)' -- "$examples/threads" 4 20000
python3 "$judges/odd_recording.py" "$work/odd.dat"
said_of odd
for name in calls stacks arrays graph lossy odd; do
  judge_parquet "$name"
  judge_others "$name"
done
judge_pprof stacks
judge_pprof graph
judge_speedscope stacks
judge_speedscope graph

# Losses, as each program shows them.
lost=$(sed -n 's/.*lost \([0-9]*\) events.*/\1/p' "$work/odd.losses")
same "the odd recording has a loss" 77 "$lost"
same "sqlite3 sees what was lost" 77 "$(sqlite3 "$work/odd.sqlite" 'select sum(lost) from losses')"
has "babeltrace2 sees what was lost" "$(babeltrace2 "$work/odd.ctf" 2>&1 >/dev/null)" \
  'discarded 77 events'
has "perf sees what was lost" \
  "$(perf script -i "$work/odd.perf" --show-lost-events 2>/dev/null | grep -a LOST)" 'lost 77'
check "no program of ours is in the way: report of calls by stack" \
  grep -q work <(perf report -i "$work/stacks.perf" --stdio -g --sort sym 2>/dev/null)

# No events; places that do not take it; a full disk.
"$patchbay" record -q -o "$work/none.dat" -e 'two_numbers(int a)' -f 'a == 123456789' -- \
  "$programs/calls" >/dev/null 2>&1
for format in parquet sqlite perf ctf pprof; do
  check "no events are an export, too: $format" \
    "$patchbay" export --to $format -i "$work/none.dat" -o "$work/none.$format" 2>/dev/null
done
same "no events in SQLite" 0 "$(sqlite3 "$work/none.sqlite" 'select count(*) from events')"
for format in parquet sqlite perf ctf; do
  has "$format is not a stream" \
    "$("$patchbay" export --to $format -o - -i "$work/odd.dat" 2>&1 >/dev/null)" '-o names a place'
done
check "a pipe gets a profile" grep -q work \
  <(cd "$work" && "$patchbay" export --to pprof -o - -i stacks.dat 2>/dev/null >piped.pb.gz &&
    go tool pprof -top piped.pb.gz 2>/dev/null)
has "a directory that is in use stays as it is" \
  "$("$patchbay" export --to parquet -o "$programs" -i "$work/odd.dat" 2>&1)" 'not empty'
if ((EUID == 0)) && mkdir "$work/small" && unshare -m true 2>/dev/null; then
  for format in parquet sqlite perf ctf pprof; do
    # shellcheck disable=SC2016  # the inner shell's
    said=$(unshare -m bash -c 'mount -t tmpfs -o size=4k none "$1" && echo > "$1/other"
      "$2" export --to '$format' -i "$3" -o "$1/out" 2>&1; echo "status $?"; ls "$1"' \
      bash "$work/small" "$patchbay" "$work/graph.dat")
    has "a full disk is said: $format" "$said" 'No space left on device'
    has "… and is an error" "$said" 'status 1'
    same "… of which nothing stays" other "$(sed -n '/^status/,$p' <<<"$said" | tail -n +2)"
  done
fi
finish
