#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay view -p: the page of a running process that nobody prepared, in chromium; who may ask the
# server, and what is left behind. A screenshot is kept in BUILD_DIR/tests/view.
#   view_live.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$(dirname "$0")/view_common.bash"
need chromium node python3 gcc curl
cd "$work" || exit
cat >live.c <<'EOC'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *live_work(int size) {
  void *memory = malloc((size_t)size);
  __asm__ volatile("" ::"r"(memory));
  return memory;
}
__attribute__((noinline)) void live_rest(int us) { usleep((unsigned)us); }
int main(void) {
  for (int i = 0;; i++) {
    free(live_work(16 << i % 8));
    live_rest(2000);
  }
}
EOC
gcc -O1 -g live.c -o live || fail "live.c"
# view ARG… : in the background; its number is $viewer, the page's address $url.
view() {
  : >url
  "$patchbay" view "$@" >url 2>said &
  viewer=$!
  wait_for 60 test -s url || fail "no address: $(cat said)"
  url=$(cat url)
}
leave() {
  kill -INT "$viewer"
  wait "$viewer"
  same "$1: it ends" 0 $?
}
code() { curl -s -o body -w '%{http_code}' "$@"; }
field() {
  python3 -c "import json, sys
print(eval('d' + sys.argv[2], {'d': json.load(open(sys.argv[1]))}))" "$@"
}

# --- who may ask
./live &
pid=$!
view -p $pid -t function_graph -l 'live_*' --hist 'malloc(u64 size) keys=size.log2:vals=size'
has "the address is this machine's, with a token" "$url" \
  '^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$'
root=${url%/*/} port=${url#http://127.0.0.1:} && port=${port%%/*}
same "the page" 200 "$(code "$url")"
has "may ask its own server only" "$(cat body)" "default-src 'none';.*connect-src 'self'\""
same "without the token" 404 "$(code "$root/")"
same "with another one" 404 "$(code "$root/00000000000000000000000000000000/live")"
same "with a part of it" 404 "$(code "${url%?????/}/live")"
same "no file beside it" 404 "$(code --path-as-is "$url../../etc/passwd")"
same "a name that leads here" 404 "$(code -H "Host: evil.example:$port" "$url")"
same "localhost is this machine" 200 "$(code -H "Host: localhost:$port" "$url")"
same "beside 100 connections that stay" 200 \
  "$(python3 "$here/beside_connections.py" "$port" 100 \
    curl -s -o body -w '%{http_code}' --max-time 10 "${url}live")"
same "nothing is taken" 405 "$(code -X POST -d x=1 "$url")"
same "nobody listens but on the loopback" "127.0.0.1" \
  "$(python3 - "$port" <<'EOP'
import sys
for line in open("/proc/net/tcp").readlines()[1:]:
    words = line.split()
    address, port = words[1].split(":")
    if words[3] == "0A" and int(port, 16) == int(sys.argv[1]):
        print(".".join(str(b) for b in bytes.fromhex(address)[::-1]))
EOP
)"

# --- what it says
same "looks" 200 "$(code "${url}live")"
# A call counts when it has returned.
functions_of() {
  field body "['top']['functions']" | grep -oE 'live_[a-z]+' | sort -u | paste -sd ' '
}
has_both() {
  code "${url}live"
  functions=$(functions_of)
  [[ $functions == "live_rest live_work" ]]
}
wait_for 20 has_both
same "the functions that were asked for" "live_rest live_work" "$functions"
same "the instance" "patchbay-$viewer-1" "$(field body "['buffers'][0]['instance']")"
same "the histogram" "functions:malloc" "$(field body "['histograms'][0]['event']")"
wait_for 60 bash -c "curl -s ${url}live | grep -q '\"nr_entries\": 8'" || fail "no 8 ranges"
python3 -c "import json; json.dump({'pid': $pid, 'functions': ['live_rest', 'live_work'],
  'ranges': 8}, open('live.json', 'w'))"
checks=$((checks + 1))
node "$here_view/view.mjs" live "$url" live.json "$shots" || fail "the page in chromium"
wait_for 60 grep -q "has ended" said || fail "it does not say that the process has ended"
same "the page stays" 200 "$(code "$url")"
leave "of a process that has ended"
check "nothing of it is left" test ! -e "$PATCHBAY_DIR/$pid"

# --- a process that goes on is as it was
./live &
pid=$!
view -p $pid -e 'live_work(int size)' -f 'size > 100'
wait_for 60 bash -c "curl -s $url | grep -q 'live_work' || curl -s ${url}live |
  grep -q '\"entries\": [1-9]'" || fail "no events"
code "${url}live" >/dev/null
same "nothing is profiled that nobody asked for" None "$(field body "['top']")"
leave "of a process that goes on"
"$patchbay" list 2>&1 | grep -q "$pid.*asleep\|no process" || "$patchbay" list >listed 2>&1
check "the agent is not awake" bash -c "! grep -q '^ *$pid .*attached' listed"
view -p $pid
wait_for 60 bash -c "curl -s ${url}live | grep -q live_work" || fail "it is not in the profile"
code "${url}live" >/dev/null
has "without a choice all functions are profiled" "$(cat body)" '"function": "live_work"'
kill -9 "$viewer"
wait "$viewer" 2>/dev/null
"$patchbay" detach $pid 2>said || fail "detach behind a killed view: $(cat said)"
kill -9 $pid

# --- what is refused
refused() {
  "$patchbay" view "${@:2}" >out 2>said
  same "status: $1" 2 $?
  has "$1" "$(cat said)" "$1"
}
refused "about a running process: -p PID" --port 80
refused "about a running process: -p PID" -l 'a*'
refused "writes no file: without -o" -p 1 -o page.html
refused "are about a recording" -p 1 --from 2
refused "1 to 65535" -p 1 --port 70000
sleep 1000 &
pid=$!
"$patchbay" view -p $pid --hist 'keys=n' >out 2>said
same "a histogram without an event" 1 $?
has "says what is needed" "$(cat said)" "an event and what to count by are needed"
python3 -m http.server --bind 127.0.0.1 0 >served 2>&1 &
server=$!
wait_for 60 grep -q 'port [0-9]' served
taken=$(grep -oE 'port [0-9]+' served | grep -oE '[0-9]+')
"$patchbay" view -p $pid --port "$taken" >out 2>said
same "a port that is taken" 1 $?
has "is named" "$(cat said)" "127.0.0.1 port $taken"
kill $server $pid
finish
