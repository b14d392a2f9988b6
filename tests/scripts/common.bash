# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the scripts share. A script starts with:
#   . "$(dirname "$0")/common.bash"
# and gets, from its first argument BUILD_DIR:
#   $patchbay, $agent      the tool and the library
#   $programs, $examples   folders of the programs to trace
#   $work                  a folder of its own, removed at the end, with PATCHBAY_DIR and the cache
# A script checks with `check`, `same`, `has`; it ends with `finish`.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:-$here/../../build/release}" && pwd) || exit 1
shift || true
patchbay=$build/bin/patchbay
agent=$build/lib/libpatchbay.so
programs=$build/tests/programs
examples=$build/examples
export here agent programs examples
work=$(mktemp -d "${TMPDIR:-/tmp}/patchbay-test.XXXXXX")
chmod 755 "$work"
export PATCHBAY_DIR=$work/run XDG_CACHE_HOME=$work/cache
mkdir -m 700 "$PATCHBAY_DIR"
unset PATCHBAY_FUNCTION_EVENTS PATCHBAY_TRACE_EVENT
export LC_ALL=C.UTF-8
checks=0 failures=0

# start_time PID : in clock ticks since boot; empty when there is no such process.
start_time() {
  local line fields
  line=$(cat "/proc/$1/stat" 2>/dev/null) || return 0  # the name of a thread may have a newline
  read -ra fields <<<"${line##*) }"
  echo "${fields[19]}"
}
# Ends what this script has started and removes its folder. The number of a process that is over may
# be another one's by now, so it is ended only if it was started when ours was.
cleanup() {
  local pid since
  if [[ -e $work/pids ]]; then
    while read -r pid since; do
      [[ -z $since || $(start_time "$pid") != "$since" ]] || kill -9 "$pid" 2>/dev/null
    done <"$work/pids"
  fi
  rm -rf "$work"
}
trap cleanup EXIT
# started PID : to be ended with this script, also when a subshell has started it.
started() { echo "$1 $(start_time "$1")" >>"$work/pids"; }

skip() {
  echo "SKIPPED: $(basename "$0"): $*"
  exit 77
}
need() {
  local program
  for program in "$@"; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}
# make_group NAME : prints the path of a new control group. Fails where none can be made.
make_group() {
  local top
  for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [[ -e $top/cgroup.procs ]] && mkdir "$top/$1" 2>/dev/null && echo "$top/$1" && return
  done
  return 1
}
# remove_group PATH : with all that is in it.
remove_group() {
  local pid
  while read -r pid; do kill -9 "$pid" 2>/dev/null; done <"$1/cgroup.procs"
  wait_for 10 rmdir "$1"
}
fail() {
  failures=$((failures + 1))
  echo "FAIL: $*"
}
# check SENTENCE COMMAND… : the command must succeed.
check() {
  local sentence=$1
  shift
  checks=$((checks + 1))
  "$@" || fail "$sentence"
}
# same SENTENCE EXPECTED ACTUAL
same() {
  checks=$((checks + 1))
  [[ $2 == "$3" ]] && return
  fail "$1"
  printf '  expected: %s\n  actual:   %s\n' "${2:0:600}" "${3:0:600}"
}
# has SENTENCE TEXT REGEX : some line of the text matches the extended regular expression.
has() {
  checks=$((checks + 1))
  grep -qE -- "$3" <<<"$2" && return
  fail "$1"
  printf '  no line matches: %s\n' "$3"
  head -n 8 <<<"$2" | cut -c1-300 | sed 's/^/  | /'
}
finish() {
  echo "$(basename "$0"): $checks checks, $failures failures"
  ((failures == 0))
  exit
}

# The report of a trace.dat without column heads and comments: one line an event.
events_of() { "$patchbay" report -i "$1" 2>/dev/null | grep -E '\[[0-9]+\] .*->' ; }
# count_of FILE FUNCTION : how many events of a function a trace.dat holds.
count_of() { events_of "$1" | grep -cE -- "->([A-Za-z0-9_:<>, ]*::)?$2\("; }
# wait_for SECONDS COMMAND… : until the command succeeds.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}
# stop_whole PID… : stops processes, and waits until all their threads stand: kill() returns before,
# and until one thread has run the others, of which one is the agent's, go on.
stop_whole() {
  kill -STOP "$@" || return
  wait_for 20 stand "$@" || fail "not stopped: $*"
}
stand() {
  local one
  for one in "$@"; do
    grep -h '^State:' /proc/"$one"/task/*/status | grep -qv '[tT] (' && return 1
  done
  return 0
}
# The numbers of record's closing line: "[ patchbay record: 12 events, 4.0 KB in FILE; lost 0 (…) ]"
summary_events() { sed -n 's/.*record: \([0-9]*\) events, .*/\1/p' "$1" | tail -n 1; }
summary_lost() { sed -n 's/.*; lost \([0-9]*\).*/\1/p' "$1" | tail -n 1; }
# start_driven [NAME=VALUE…] PROGRAM : a program of tests/programs that does what its input says,
# with the agent. Sets pid; descriptor 3 is its input, 4 its output; $work/err has its messages.
start_driven() {
  local settings=()
  while [[ $1 == *=* ]]; do
    settings+=("$1")
    shift
  done
  [[ -p $work/in ]] || mkfifo "$work/in" "$work/out"
  env LD_PRELOAD="$agent" "${settings[@]}" \
    "$programs/$1" <"$work/in" >"$work/out" 2>"$work/err" &
  pid=$!
  started $pid
  exec 3>"$work/in" 4<"$work/out"
  wait_for 20 "$patchbay" ls $pid || fail "the agent does not answer"
}

# header_compiles HEADER COMPILER… : <patchbay/HEADER> alone, with the kernel's names and without.
header_compiles() {
  local header=$1 compiler names out
  for compiler in "${@:2}"; do
    for names in "" -DPATCHBAY_NO_KERNEL_NAMES; do
      # shellcheck disable=SC2086  # several words
      out=$($compiler -Wall -Wextra -Wpedantic -Werror -I"$here/../../include" $names \
        -fsyntax-only - <<<"#include <patchbay/$header>" 2>&1)
      same "$header compiles: $compiler $names" "" "$out"
    done
  done
}
# compile_as_cxx SOURCE : a program in C that uses the agent's API, as C++20. Makes $work/cxx.
compile_as_cxx() {
  g++ -std=c++20 -x c++ -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$here/../../include" "$1" \
    -x none -o "$work/cxx" "$agent" -Wl,-rpath,"$build/lib" -lpthread 2>"$work/errors"
  same "it compiles as C++20" "" "$(cat "$work/errors")"
}

# nginx_site DIR on|off WORKERS : a page, and DIR/nginx.conf for it with nginx as a daemon or not.
# It listens on DIR/sock.
nginx_site() {
  mkdir -p "$1/html" "$1/logs" && chmod -R 777 "$1/html" "$1/logs"
  echo "a page" >"$1/html/index.html"
  cat >"$1/nginx.conf" <<CONF
daemon $2; master_process on; worker_processes $3; pid $1/pid; error_log $1/logs/error.log;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $1/a; proxy_temp_path $1/b;
  fastcgi_temp_path $1/c; uwsgi_temp_path $1/d; scgi_temp_path $1/e;
  server { listen unix:$1/sock; root $1/html; } }
CONF
}
# nginx_right_answers SOCK COUNT : asks for the page so many times, and prints how often it came.
nginx_right_answers() {
  python3 - "$1" "$2" <<'PYTHON'
import socket, sys
right = 0
for i in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
    s.sendall(b"GET /index.html?%d HTTP/1.0\r\n\r\n" % i)
    data = b""
    while chunk := s.recv(65536): data += chunk
    right += data.startswith(b"HTTP/1.1 200") and data.endswith(b"a page\n")
print(right)
PYTHON
}
