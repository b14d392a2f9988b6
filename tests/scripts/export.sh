#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay export, for recordings of each kind: every event and field is in every format as report
# has it; judges read what was written (protoc and an own reader for perfetto, python and jq for
# JSON and CSV). Then bad input: each is a sentence, and leaves no half file.
#   export.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$(dirname "$0")/kernel_recording.bash"
need python3 jq
export_tests=$here/../export
cd "$work" || exit

# exported NAME RECORDING FORMAT OPTION… : NAME.FORMAT, with its messages in NAME.err
exported() {
  "$patchbay" export --to "$3" -i "$2" -o "$1.$3" "${@:4}" 2>"$1.err" ||
    fail "$1, $3: $(tail -n 1 "$1.err")"
}
# compared NAME RECORDING : all formats that have fields against report.
compared() {
  local format out
  "$patchbay" report -i "$2" --json >"$1.report" 2>/dev/null || fail "$1: report"
  for format in jsonl csv chrome perfetto; do
    exported "$1" "$2" $format
    cp "$1.$format" "$1.checked"
    if [[ $format == perfetto ]]; then
      python3 "$export_tests/perfetto_check.py" "$1.perfetto" "$export_tests/perfetto.proto" \
        >"$1.checked" 2>"$1.wrong" || fail "$1: perfetto: $(tail -n 1 "$1.wrong")"
    fi
    out=$(python3 "$export_tests/compare.py" $format "$1.checked" "$1.report" 2>&1) ||
      fail "$1, $format: $out"
    checks=$((checks + 1))
  done
  out_of=$out
  echo "$1: $out"
  jq -e . "$1.chrome" >/dev/null || fail "$1: jq does not read the chrome trace"
  [[ $(jq -s length "$1.jsonl") -gt 0 ]] || fail "$1: jq does not read the lines"
}
# decoded FILE : protoc reads it, with as many packets as there are.
decoded() {
  command -v protoc >/dev/null || { echo "protoc is not installed: it was NOT asked"; return; }
  check "protoc reads $1" test "$(protoc "-I$export_tests" --decode=patchbay_test.Trace \
    perfetto.proto <"$1" 2>protoc.err | grep -c '^packet {')" -gt 0
  same "protoc has nothing to complain of in $1" "" "$(cat protoc.err)"
}

# --- function_graph
"$patchbay" record -q -o graph.dat -t function_graph -l 'calls_*' --funcgraph-retval -- \
  "$programs/graph_calls" >own 2>err || fail "record: $(cat err)"
compared graph graph.dat
decoded graph.perfetto
exported graph graph.dat folded
same "folded is report's" "$("$patchbay" report -i graph.dat --folded)" "$(cat graph.folded)"
exported graph graph.dat speedscope
check "speedscope's file" python3 "$export_tests/speedscope_check.py" graph.speedscope \
  "$(grep -c funcgraph_entry graph.report)"
for format in perfetto jsonl; do
  exported graph.gz graph.dat $format --compress gzip
  check "$format: gzip" cmp -s <(gzip -dc graph.gz.$format) graph.$format
done
if command -v zstd >/dev/null; then
  exported graph.zst graph.dat perfetto --compress zstd
  check "zstd" cmp -s <(zstd -dcq graph.zst.perfetto) graph.perfetto
fi
check "standard output" cmp -s <("$patchbay" export --to chrome -i graph.dat -o -) graph.chrome
"$patchbay" record -q --format 6 -o graph6.dat -t function_graph -l 'calls_*' -- \
  "$programs/graph_calls" >own 2>err || fail "record, version 6: $(cat err)"
compared graph6 graph6.dat

# Arguments of calls: words in the records, by name and type in what viewers show.
"$patchbay" record -q -o args.dat -t function_graph -l 'calls_*' -O funcgraph-args \
  -O funcgraph-retval -B tracer -t function -l calls_leaf -O func-args -- "$programs/graph_calls" \
  >own 2>err || fail "record arguments: $(cat err)"
compared args args.dat
has "arguments of calls are compared" "$out_of" '[1-9][0-9]* arguments'

# --- what is made of calls and stacks alone
"$patchbay" record -q -o flat.dat -e 'calls_leaf(int n)' -- "$programs/graph_calls" >own 2>err
for format in folded speedscope pprof; do
  "$patchbay" export --to $format -i flat.dat -o flat.$format 2>err
  same "$format of a recording without stacks: status" 1 $?
  has "and why" "$(cat err)" "no calls and no stacks, of which $format is made: record with"
  check "and no file" test ! -e flat.$format
done

# --- function events with texts, probes with returns, stacks
"$patchbay" record -q -o probes.dat -e 'calls_leaf(int n)' -e 'getenv(string name)' \
  -e 'p:kp/in calls_middle n=%di:s32' -e 'r:kp/out calls_middle ret=$retval:s32' -O stacktrace -- \
  "$programs/graph_calls" >own 2>err || fail "record probes: $(cat err)"
compared probes probes.dat
exported probes probes.dat folded
same "stacks folded" "$("$patchbay" report -i probes.dat --folded)" "$(cat probes.folded)"
exported probes probes.dat speedscope
check "sampled" python3 "$export_tests/speedscope_check.py" probes.speedscope 0
returns=$(grep -c '"event":"out"' probes.report)
same "each return is a slice with its entry" "$returns" \
  "$(grep -c '"track": "returns".*"ret": ' probes.checked)"
exported single probes.dat csv -e kp:in
same "one kind of events has its columns" \
  "ts,cpu,pid,tid,comm,instance,event,function,depth,duration_ns,__probe_ip,n,stack" \
  "$(head -n 1 single.csv | tr -d '\r')"
exported counter probes.dat perfetto --instants --counter in.n
python3 "$export_tests/perfetto_check.py" counter.perfetto "$export_tests/perfetto.proto" \
  >counter.checked || fail "counters are not understood"
same "counters" "$(grep -c '"event":"in"' probes.report)" \
  "$(grep -c '"kind": "counter"' counter.checked)"
some=$(jq -c 'select(.event == "in") | .fields.n' probes.jsonl | sort | uniq -c | sort -rn |
  awk 'NR == 1 { print $2 }')
exported chosen probes.dat jsonl -e in -f "n == $some"
same "filter" "$(jq -c "select(.event == \"in\" and .fields.n == $some) | .ts" probes.jsonl)" \
  "$(jq -c .ts chosen.jsonl)"
middle=$(sed -n "$(($(wc -l <probes.jsonl) / 2))p" probes.jsonl | sed 's/{"ts":\([0-9.]*\).*/\1/')
exported early probes.dat jsonl --until "$middle"
exported late probes.dat jsonl --from "$middle"
same "--from and --until" "$(wc -l <probes.jsonl)" \
  "$(($(cat early.jsonl late.jsonl | wc -l) - $(grep -c "\"ts\":$middle," probes.jsonl)))"

# --- static events of several types, an instance
"$patchbay" record -q -o static.dat -e shop -B other -e shop:shop_sold -- \
  "$examples/static_events" >own 2>err || fail "record static events: $(cat err)"
compared static static.dat
same "the process is known by its id, not the thread" 1 \
  "$(jq -c .pid static.jsonl | sort -u | wc -l)"

# --- losses
lost=
for calls in 20000 200000 2000000; do
  "$patchbay" record -q -b 8K -o lost.dat -t function -l called -- \
    "$programs/hits" <<<"call 0 $calls" >own 2>err || fail "record: $(cat err)"
  lost=$("$patchbay" report -i lost.dat --stat 2>&1 >/dev/null | sed 's/.*report: //')
  [[ -z $lost ]] || break
done
has "something is lost" "$lost" "lost .*events"
compared lost lost.dat
check "the loss is marked in the bundles" grep -q '"lost_bundles": [1-9]' lost.checked
check "and in lines" jq -se 'any(has("lost"))' lost.jsonl >/dev/null
same "as much is lost as report says" "$lost" \
  "$("$patchbay" export --to jsonl -i lost.dat -o - 2>&1 >/dev/null | grep lost |
    sed 's/.*export: //')"

# --- two machines: the same pids, of another host; and a file that does not say its host
host=$(uname -n)
as_host() { # FILE NAME : probes.dat of another machine, with a name as long as ours; "": of none
  python3 - "$host" "$1" "$2" <<'EOP'
import sys
host, out, name = sys.argv[1:]
data = open("probes.dat", "rb").read()
old = f"Linux {host} ".encode()
new = f"Linux {name} ".encode() if name else b"\0" * len(old)
assert data.count(old) == 1 and len(old) == len(new)
open(out, "wb").write(data.replace(old, new))
EOP
}
other=$(tr 'a-y' 'b-z' <<<"$host" | tr '0-8' '1-9')
as_host other.dat "$other" && as_host nobody.dat "" || fail "another host's recording"
events=$(wc -l <probes.jsonl)
# two NAME FILE : both recordings in one export of each format; NAME.machines is what perfetto has.
two() {
  local format
  for format in perfetto chrome jsonl; do
    "$patchbay" export --to $format -i probes.dat -i "$2" -o "$1.$format" 2>"$1.err" ||
      fail "$1, $format: $(tail -n 1 "$1.err")"
  done
  python3 "$export_tests/perfetto_check.py" "$1.perfetto" "$export_tests/perfetto.proto" \
    >"$1.checked" 2>"$1.wrong" || fail "$1: perfetto: $(tail -n 1 "$1.wrong")"
  tail -n 1 "$1.checked" | jq -c .machines >"$1.machines"
  same "$1: events are counted twice" \
    "$(jq -c 'select(.kind == "event")' probes.checked.perfetto | wc -l | awk '{ print 2 * $1 }')" \
    "$(jq -c 'select(.kind == "event")' "$1.checked" | wc -l)"
}
exported probes probes.dat perfetto
python3 "$export_tests/perfetto_check.py" probes.perfetto "$export_tests/perfetto.proto" \
  >probes.checked.perfetto || fail "probes are not understood"
pid=$(jq -s '.[0].pid' probes.jsonl)
# names WHAT FILE HOST : the second machine is HOST, with the same pid, and both are named.
names() {
  two "$1" "$2"
  same "$1: machines" "[\"$host\",\"$3\"]" "$(jq -c 'map(.name)' "$1.machines")"
  same "$1: each has the process" "[[\"$pid\"],[\"$pid\"]]" \
    "$(jq -c 'map(.processes | keys)' "$1.machines")"
  same "$1: named with its host" "[[\"$host: graph_calls\"],[\"$3: graph_calls\"]]" \
    "$(jq -c 'map(.tracks)' "$1.machines")"
  same "$1: half of the events are each one's" "[$events,$events]" \
    "$(jq -c .host "$1.jsonl" | sort | uniq -c | awk '{ printf "%s%d", sep, $1; sep = "," }' |
      sed 's/.*/[&]/')"
  same "$1: two processes in the chrome trace" \
    "$host: graph_calls ($pid) $3: graph_calls ($pid)" \
    "$(jq -r '.traceEvents[] | select(.name == "process_name") | .args.name' "$1.chrome" | xargs)"
  same "$1: with two pids" 2 "$(jq '.traceEvents[].pid' "$1.chrome" | sort -u | wc -l)"
}
names hosts other.dat "$other"
decoded hosts.perfetto
names nobody nobody.dat nobody.dat
two twice probes.dat
same "a recording twice is one machine" 1 "$(jq length twice.machines)"
same "… without a name" '[null]' "$(jq -c 'map(.name)' twice.machines)"
if command -v sqlite3 >/dev/null; then
  exported hosts probes.dat sqlite -i other.dat
  same "SQLite has the host, too" 2 \
    "$(sqlite3 hosts.sqlite 'select count(distinct host) from processes')"
fi

# --- live: several processes by fork, a synthetic event
mkfifo input
LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS='work(int n)' "$programs/fork_workers" \
  <input >workers.out 2>&1 &
pid=$!
started $pid
exec 7>input
wait_for 60 "$patchbay" cat $pid current_tracer >/dev/null || fail "there is no agent"
w() { "$patchbay" write $pid "$1" "$2" >out 2>&1 || fail "write $1: $(cat out)"; }
w dynamic_events 'p:kp/begin helper n=%di:s32'
w dynamic_events 's:delay int n; u64 ns'
w events/kp/begin/trigger 'hist:keys=common_pid:n=n,b=common_timestamp'
w events/functions/work/trigger \
  'hist:keys=common_pid:d=common_timestamp-$b:onmatch(kp.begin).trace(delay,$n,$d)'
for event in functions/work kp/begin synthetic/delay; do w events/$event/enable 1; done
echo "call 50" >&7
wait_for 60 grep -q . workers.out || fail "the workers do not answer"
several() { [[ $("$patchbay" export --to jsonl -i "$PATCHBAY_DIR" -o - 2>/dev/null |
  jq -c 'select(.event == "work") | .pid' | sort | uniq -c | awk '$1 == 50' | wc -l) -ge 4 ]]; }
wait_for 60 several || fail "four processes with 50 calls each"
exported live "$PATCHBAY_DIR" perfetto
exported live "$PATCHBAY_DIR" jsonl
python3 "$export_tests/perfetto_check.py" live.perfetto "$export_tests/perfetto.proto" \
  >live.checked || fail "several processes are not understood"
same "their processes" "$(jq .pid live.jsonl | sort -nu | tr '\n' ' ')" \
  "$(tail -n 1 live.checked | jq -r '.processes | keys[]' | sort -n | tr '\n' ' ')"
# linked NAME : each delay comes from the work that was hit, and from the begin that its n is of.
linked() {
  local delays
  delays=$(grep -c '"kind": "event".*"name": "delay"' "$1.checked")
  check "$1: there are delays" test "$delays" -gt 40
  from() {
    jq -c "select(.kind == \"arrow\" and .from == \"$2\" and .to == \"delay\")" "$1.checked"
  }
  same "$1: flows from the hits to the synthetic events" "$delays" "$(from "$1" work | wc -l)"
  same "$1: flows from the beginnings" "$delays" "$(from "$1" begin | wc -l)"
  same "$1: of the same n" 0 \
    "$(from "$1" begin | jq -c 'select(.from_args.n != .to_args.n)' | wc -l)"
  same "$1: there are no others" "$((2 * delays))" "$(grep -c '"kind": "arrow"' "$1.checked")"
}
linked live
check "synthetic events" grep -q '"system":"synthetic","event":"delay"' live.jsonl
check "in order of time" test "$(jq .ts live.jsonl | sort -cn 2>&1 | wc -l)" = 0
# The same out of a trace.dat, which trace-cmd reads as any other.
kill -9 $pid
{ wait $pid; } 2>/dev/null
exec 7>&-
for version in 6 7; do
  "$patchbay" recover "$PATCHBAY_DIR/$pid" --format $version -o left$version.dat >out 2>&1 ||
    fail "recover: $(cat out)"
  exported left$version left$version.dat perfetto
  python3 "$export_tests/perfetto_check.py" left$version.perfetto "$export_tests/perfetto.proto" \
    >left$version.checked || fail "a recovered recording is not understood"
  linked left$version
  exported left$version left$version.dat perfetto -e work -e begin
  python3 "$export_tests/perfetto_check.py" left$version.perfetto "$export_tests/perfetto.proto" \
    >left$version.checked
  same "version $version: no flow without the synthetic event" 0 \
    "$(grep -c '"kind": "arrow"' left$version.checked)"
done
has "dump says what makes it" "$("$patchbay" dump left7.dat)" \
  'matches .*"delay.*functions:work.*kp:begin.*common_pid=common_pid'
if command -v trace-cmd >/dev/null; then
  same "trace-cmd has nothing to say of it" "" "$(trace-cmd report left7.dat 2>&1 >left7.text)"
  same "and reads all" "$(grep -c '"kind": "event".*"name": "work"' left7.checked)" \
    "$(grep -c ' work: ' left7.text)"
fi

# --- a kernel's recording, made by trace-cmd
if kernel_recording; then
  compared kernel kernel.dat
  decoded kernel.perfetto
else
  echo "export.sh: no recording of the kernel can be made here: it was NOT tried"
fi

# --- bad input
refused() { # SENTENCE REGEX OPTION… : exit status 1 or 2, the message, and no file
  local sentence=$1 message=$2 status
  shift 2
  rm -f bad.out
  "$patchbay" export -o bad.out "$@" >out 2>&1
  status=$?
  check "$sentence: it fails" test $status -eq 1 -o $status -eq 2
  has "$sentence" "$(cat out)" "$message"
  check "$sentence: nothing is left" test ! -e bad.out
}
refused "unknown format" "no format 'vcd'.*perfetto, chrome.*jsonl" --to vcd -i graph.dat
refused "no format" "--to is needed, one of perfetto" -i graph.dat
refused "no such event" "'calls_nothing'" --to jsonl -i graph.dat -e calls_nothing
refused "no such field" "Field not found" --to jsonl -i graph.dat -f 'nothing == 1'
refused "no such file" "No such file" --to jsonl -i nothing.dat
refused "no recording" "not a trace.dat" --to jsonl -i graph.chrome
refused "no time" "take a time" --to jsonl -i graph.dat --from tomorrow
refused "no counter" "EVENT.FIELD" --to perfetto -i graph.dat --counter nothing
check "the recording is not its own output" test \
  "$("$patchbay" export --to csv -i graph.dat -o graph.dat 2>&1 | grep -c 'recording itself')" = 1
: >empty.dat
refused "an empty file" "empty" --to perfetto -i empty.dat
"$patchbay" record -q -o none.dat -e 'calls_leaf(int n)' -f 'n == -7777' -- \
  "$programs/graph_calls" >own 2>&1
# Cut, and with bytes in the middle of its pages overwritten: both are read up to the damage.
size=$(stat -c %s probes.dat)
head -c $((size * 3 / 5)) probes.dat >cut.dat
cp probes.dat damaged.dat
head -c 3000 /dev/zero | tr '\0' '\377' |
  dd of=damaged.dat bs=1 seek=$((size - 9000)) conv=notrunc status=none
for format in perfetto chrome speedscope folded csv jsonl; do
  exported none none.dat $format
  for file in cut damaged; do
    "$patchbay" export --to $format -i $file.dat -o $file.$format >out 2>&1
    check "$file, $format: no crash" test $? -le 1
  done
  has "a full disk, $format" \
    "$("$patchbay" export --to $format -i graph.dat -o /dev/full 2>&1)" "write /dev/full: No space"
done
check "0 events are valid JSON" jq -e . none.chrome none.speedscope >/dev/null
if unshare -m true 2>/dev/null; then
  mkdir small
  said=$(unshare -m bash -c 'mount -t tmpfs -o size=64k none small &&
    "$1" export --to jsonl -i graph.dat -o small/x 2>&1; ls small' _ "$patchbay")
  has "a small disk is said" "$said" "write small/x .*removed.*No space left"
  same "once, and nothing is left" 1 "$(wc -l <<<"$said")"
fi

finish
