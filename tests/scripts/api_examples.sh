#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples of the in-process API, examples/api_*: each is run and what it shows is compared with
# what its head promises.
#
#   api_examples.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
[[ -x $examples/api_synth_event ]] || skip "no $examples/api_synth_event"

# run NAME : its output in $out; it must end with 0 and say nothing on stderr.
run() {
  out=$(timeout 120 "$examples/$1" 2>"$work/err")
  same "$1: exit status" 0 $?
  same "$1: stderr" "" "$(cat "$work/err")"
}

run api_synth_event
same "synthetic events" $'order: id=1 price=250 item=tea\norder: id=2 price=1200 item=teapot
order: id=3 price=0 item=spoon' "$out"

run api_probe_event
same "four records" 4 "$(wc -l <<<"$out")"
has "a probe's arguments" "$out" '^charged: .*account=17 amount=40 who="ann"$'
has "those of the second call" "$out" '^charged: .*account=18 amount=99 who="bob"$'
has "what it returned" "$out" '^charge_done: .*<- charge.* left=60$'
has "the second time" "$out" '^charge_done: .* left=1$'

run api_callback
same "callbacks" $'parse_line: 3 calls, at most 70\nparse_word: 12 calls, at most 5' "$out"

run api_trace_array
same "buffers of two components" "network: packet 1 of 3 to 10.0.0.1
network: packet 2 of 3 to 10.0.0.1
network: packet 3 of 3 to 10.0.0.1
storage: 3000 lines written, the last kept" "$out"

run api_listen
same "a watchdog" "lease 3 of ann is taken, and 2 of bob is not given back" "$out"

run api_spans
same "spans" 3 \
  "$(grep -cE ' request: begin_ns=[0-9]+ duration_ns=[0-9]+ path=/(index|x) ' <<<"$out")"
has "a value that was set later" "$out" 'path=/x status=404$'
has "their histogram" "$out" '^\{ path: /index +\} hitcount: +2$'
same "nothing before it was on" 0 "$(grep -c '/before' <<<"$out")"

# The drop of a connection: what happened during the reconnect is whole, whatever others record.
for _ in 1 2 3; do
  run api_connection
  same "trouble in its own buffer" "reconnect: 6 attempts, 6 in the snapshot, 0 of others
reconnect: from its beginning to its end
storage: its own buffer was overwritten" "$out"
done
# The program of docs/api.md, as it stands there.
page=$here/../../docs/api.md
if [[ -e $page ]] && command -v g++ >/dev/null; then
  sed -n '/^```cpp/,/^```$/{/^```/d;p}' "$page" >"$work/page.cc"
  out=$(g++ -std=c++20 -Wall -Wextra -Werror -I"$here/../../include" "$work/page.cc" \
    "$build/lib/libpatchbay.so" -Wl,-rpath,"$build/lib" -o "$work/page" 2>&1)
  same "the page's program compiles" "" "$out"
  out=$("$work/page" 2>&1)
  has "what it listens to" "$out" '^descriptor 101$'
  same "its snapshot" $'opened: fd=3 path=/etc/hosts\nopened: fd=4 path=/etc/passwd' \
    "$(sed -n 's/.* \(opened: \)/\1/p' <<<"$out")"
fi
finish
