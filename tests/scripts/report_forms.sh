#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay report: chosen columns, relative times, groups, and the pager and the colours of a
# terminal.
#   report_forms.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit
unset NO_COLOR LESS
export TERM=dumb  # colours have a part of their own
report() { "$patchbay" report -i e.dat "$@" 2>/dev/null; }
"$patchbay" record -q -o e.dat -e app:app_work -e app:app_end -- \
  "$programs/event_app" 1 2 10 >/dev/null 2>err || fail "record: $(cat err)"
report --json >json

# --- columns
report --fields comm,tid,cpu,time,event,n,name >columns
same "their head" $'# comm\ttid\tcpu\ttime\tevent\tn\tname' "$(head -n 1 columns)"
cat >columns.py <<'EOP'
import json, sys
rows = [json.loads(line) for line in open("json")]
lines = [line.rstrip("\n").split("\t") for line in open("columns") if not line.startswith("#")]
if len(rows) != len(lines) or not rows: print("lines:", len(rows), len(lines))
for row, line in zip(rows, lines):
    fields = row["fields"]
    expected = [row["comm"], str(row["pid"]), str(row["cpu"]), f"{row['ts']:.6f}", row["event"],
                str(fields.get("n", "-")), fields.get("name", "-")]
    same = expected[:3] + expected[4:] == line[:3] + line[4:]
    if not same or abs(float(line[3]) - row["ts"]) > 2e-6: print(expected, line)
EOP
same "each event has them" "" "$(python3 columns.py 2>&1)"
check "a field that an event has not" grep -q $'app_end\t-\t' columns
same "trace is the text of a line" "$(report | grep -v '^#' | sed 's/.* [0-9]*\.[0-9]*: //')" \
  "$(report --fields trace | grep -v '^#')"
"$patchbay" report -i e.dat --fields comm,nam 2>err
same "no such column" 1 $?
has "near ones" "$(cat err)" "no field of an event is named 'nam'; near: .*name"
"$patchbay" report -i e.dat --fields comm --json 2>err
same "--fields and --json" 2 $?

# --- times
cat >times.py <<'EOP'
import json
whole, since, before = ([json.loads(line)["ts"] for line in open(name)]
                        for name in ("json", "since", "before"))
if not len(whole) == len(since) == len(before) > 2: print("lines")
if since[0] != 0 or before[0] != 0: print("the first is not 0")
for i in range(1, len(whole)):
    if abs(since[i] - (whole[i] - whole[0])) > 1e-6: print("since the first", i)
    if abs(before[i] - (whole[i] - whole[i - 1])) > 1e-6: print("since the one before", i)
EOP
report --reltime --json >since
report --deltatime --json >before
same "--reltime and --deltatime" "" "$(python3 times.py 2>&1)"
same "in lines, too" 0.000000 "$(report --reltime | grep -v '^#' | head -n 1 |
  sed 's/.* \([0-9]*\.[0-9]*\): .*/\1/')"
"$patchbay" report -i e.dat --reltime --deltatime 2>err
same "not both" 2 $?

# --- groups: the same objects in another order, and heads that count them
cat >groups.py <<'EOP'
import json, re, sys
what, process_of_all = sys.argv[1], sys.argv[2:]
lines = open("json").read().splitlines()
rows = [json.loads(line) for line in lines]
keys = {"tid": lambda row: row["pid"], "cpu": lambda row: row["cpu"],
        "event": lambda row: row["event"], "pid": lambda row: process_of_all[0]}
groups = {}
for row, line in zip(rows, lines): groups.setdefault(keys[what](row), []).append((row, line))
expected = [line for group in groups.values() for row, line in group]
if open("grouped.json").read().splitlines() != expected: print("JSON")
heads = {"tid": lambda row: f"thread {row['pid']} ({row['comm']})",
         "cpu": lambda row: f"cpu {row['cpu']}", "event": lambda row: "app:" + row["event"],
         "pid": lambda row: f"process {process_of_all[0]} (event_app)"}
text = []
for group in groups.values():
    text.append(f"# == {heads[what](group[0][0])}: {len(group)} event{'s' * (len(group) > 1)} ==")
    text += [str(row["fields"].get("n", "-")) + "\t" + row["event"] for row, line in group]
found = [line for line in open("grouped").read().splitlines() if not line.startswith("# n")]
if found != text: print("text", found, text)
if what != "pid" and len(groups) < 2: print("there is one group only")
delta = [json.loads(line)["ts"] for line in open("deltas")]
for group in groups.values():
    times = [row["ts"] for row, line in group]
    for i, time in enumerate(times):
        if abs(delta.pop(0) - (time - times[max(i, 1) - 1])) > 1e-6: print("--deltatime")
EOP
process=$("$patchbay" report -i e.dat --fields comm,tid,event | grep app_end | cut -f 2)
for what in tid pid cpu event; do
  report --group $what --json >grouped.json
  report --group $what --fields n,event >grouped
  report --group $what --deltatime --json >deltas
  only_cpu=$([[ $what == cpu && $(report --fields cpu | grep -v '^#' | sort -u | wc -l) == 1 ]] &&
    echo "there is one group only")
  same "--group $what" "$only_cpu" "$(python3 groups.py $what "$process" 2>&1)"
done
same "whole lines" "$(report | grep -v '^#' | sort)" "$(report --group tid | grep -v '^#' | sort)"
same "the same head" "$(report | grep '^#')" "$(report --group event | grep '^#' | grep -v '^# ==')"
same "--reltime is the recording's" "$(report --reltime --json | sort)" \
  "$(report --reltime --json --group tid | sort)"
"$patchbay" record -q -o fork.dat -e 'traced(int n)' -- "$programs/fork_children" >out 2>err ||
  fail "record: $(cat err)"
grep -h '# == process' <("$patchbay" report -i fork.dat --group pid 2>err) >heads
same "each process" 13 "$(wc -l <heads)"
same "their events" "8 1 1000" "$(sed -n 's/.*: \([0-9]*\) events* ==$/\1/p' heads | awk '
  { seen[$1] } END { print (8 in seen) ? 8 : 0, (1 in seen) ? 1 : 0, (1000 in seen) ? 1000 : 0 }')"
"$patchbay" record -q -o stack.dat -e 'traced(int n)' -O stacktrace -- "$programs/fork_children" \
  >out 2>err || fail "record: $(cat err)"
same "stacks stay with their events" 1 "$("$patchbay" report -i stack.dat --group event 2>err |
  grep -c '^# ==')"
"$patchbay" record -q -o g.dat -t function_graph -l 'calls_*' -- "$programs/graph_calls" >out 2>err
same "entries and exits are two events" "funcgraph_entry funcgraph_exit" \
  "$(report -i g.dat --group event | sed -n 's/^# == ftrace:\(.*\): .*/\1/p' | sort | xargs)"
same "calls are whole by thread" "$(report -i g.dat | grep -v '^#' | sort)" \
  "$(report -i g.dat --group tid | grep -v '^#' | sort)"

# --- a choice of events, beside what all of them say
cat >chosen.py <<'EOP'
import fnmatch, json, sys
name, *words = sys.argv[1:]
rows = [json.loads(line) for line in open(name + ".json")]
process = dict(line.split() for line in open(name + ".pids"))
first, last, kept = rows[0]["ts"], {}, []
for row in rows:
    # A stack is where the event before it is.
    owner = last.get(row["pid"], row) if row["event"] == "user_stack" else row
    last[row["pid"]] = owner
    tests = {
        "-e": lambda v: fnmatch.fnmatch(owner["event"], v),
        "-f": lambda v: owner["fields"].get("n", -1) > 3,  # 'n > 3'
        "--tid": lambda v: str(row["pid"]) in v.split(","),
        "--pid": lambda v: process[str(row["pid"])] in v.split(","),
        "--cpu": lambda v: int(v.split("-")[0]) <= owner["cpu"] <= int(v.split("-")[-1]),
        "--comm": lambda v: fnmatch.fnmatch(row["comm"], v),
        "--from": lambda v: row["ts"] >= float(v),
        "--until": lambda v: row["ts"] <= float(v),
    }
    if all(tests[option](value) for option, value in zip(words[::2], words[1::2])):
        kept.append(row)
found = [json.loads(line) for line in open("chosen")]
if found != kept: print(len(found), "events, not", len(kept))
if len(found) in (0, len(rows)) and "all" not in words: print("the choice is none:", len(found))
EOP
"$patchbay" record -q -o choice.dat -O userstacktrace -e 'traced(int n)' -e fork -- \
  "$programs/fork_children" >out 2>err || fail "record: $(cat err)"
"$patchbay" report -i choice.dat --json >choice.json 2>err
# Whose thread each is: a head says the process, --fields the threads of its group.
"$patchbay" report -i choice.dat --group pid --fields tid 2>err |
  awk '/^# == process/ { pid = $4 } /^[0-9]/ { print $1, pid }' | sort -u >choice.pids
choose() {
  "$patchbay" report -i choice.dat --json "$@" >chosen 2>err || fail "report $*: $(cat err)"
  same "report $*" "" "$(python3 chosen.py choice "$@" 2>&1)"
}
mapfile -t tids < <(cut -d' ' -f1 choice.pids)
middle=$(sed -n "$(($(wc -l <choice.json) / 2))p" choice.json | sed 's/.*"ts":\([0-9.]*\).*/\1/')
choose -e traced
choose -e 'tra*' -f 'n > 3'
choose --tid "${tids[0]},${tids[1]}"
choose --pid "$(sed -n '2s/.* //p' choice.pids)"
choose --from "$middle"
choose --until "$middle" -e traced
choose --tid "${tids[0]}" --until "$middle"
[[ $(grep -o '"cpu":[0-9]*' choice.json | sort -u | wc -l) == 1 ]] || choose --cpu 0-0
"$patchbay" report -i choice.dat --comm 'fork_*' --json >chosen 2>err
same "a name of all threads" "$(cat choice.json)" "$(cat chosen)"
same "of nobody" "" "$("$patchbay" report -i choice.dat --comm nobody --json 2>err)"
same "relative times" "$(wc -l <choice.json)" \
  "$(cat <("$patchbay" report -i choice.dat --json --until +2ms 2>err) \
    <("$patchbay" report -i choice.dat --json --from +2000001ns 2>err) | wc -l)"
same "--stat counts what is chosen" \
  "$("$patchbay" report -i choice.dat --json -e traced 2>err | wc -l)" \
  "$("$patchbay" report -i choice.dat --stat -e traced 2>err |
    sed -n 's/ *\([0-9]*\)  in all$/\1/p')"
"$patchbay" report -i choice.dat -e trased 2>err
same "no such event" 1 $?
has "near ones" "$(cat err)" "No event of the recording is called 'trased'; near: traced"
"$patchbay" report -i choice.dat -f 'n >' 2>err
same "no filter" 1 $?
for wrong in '--tid x' '--cpu 3-1' '--from soon' '--tid 1-99999999'; do
  # shellcheck disable=SC2086
  "$patchbay" report -i choice.dat $wrong 2>err
  same "report $wrong" 2 $?
done
"$patchbay" report -i choice.dat --folded -e traced 2>err
same "not with a flame graph" 2 $?
# Losses are said, whatever is chosen.
"$patchbay" record -q -b 16 -o lossy.dat -e 'work(int thread, long i)' -- \
  "$examples/threads" 2 40000 >/dev/null 2>&1
same "losses are all told" "$("$patchbay" report -i lossy.dat 2>err | grep -c LOST)" \
  "$("$patchbay" report -i lossy.dat -f 'i < 0' 2>err | grep -c LOST)"
has "and summed up" "$(cat err)" 'lost'

# more than memory keeps: a temporary file
"$patchbay" record -q -o big.dat -b 64M -e app:app_work -- "$programs/event_app" 1 2 60000 \
  >out 2>err || fail "record: $(cat err)"
report -i big.dat | grep -v '^#' >big
check "it is large" test "$(stat -c %s big)" -gt $((8 << 20))
report -i big.dat --group tid | grep -v '^#' >big.grouped
same "each line is there, in its group" "$(awk '{ print $1 }' big.grouped | uniq | wc -l) $(
  sort -s -k 1,1 big | md5sum)" "2 $(sort -s -k 1,1 big.grouped | md5sum)"
same "nothing stays of it" "" "$(mkdir temporary && TMPDIR=$PWD/temporary report -i big.dat \
  --group tid >/dev/null; ls temporary)"
TMPDIR=/no/such "$patchbay" report -i big.dat --group tid >out 2>err
same "no place for it" 1 $?
has "is said" "$(cat err)" 'temporary file of --group in /no/such: No such .*; TMPDIR can name'
( trap '' XFSZ
  ulimit -f 1000
  "$patchbay" report -i big.dat --group tid 2>err | tail -n 1 >out
  exit "${PIPESTATUS[0]}" )
same "a disk that is full" 1 $?
has "is said" "$(cat err)" '^patchbay report: write the temporary file of --group in .*: File too'

# what makes no sense
report_refused() {
  "$patchbay" report -i e.dat "${@:2}" >out 2>err
  same "${*:2}" 2 $?
  has "${*:2}: why" "$(cat err)" "$1"
}
report_refused 'takes tid, pid, comm, exe, cpu or event' --group color
report_refused 'have groups of tid, pid' --group cpu --folded
report_refused 'leave one of them out' --group tid --per-thread --folded

# --- the pager: what a terminal shows went through it
cat >terminal.py <<'EOP'
import os, pty, subprocess, sys
master, slave = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave)
os.close(slave)
text = b""
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part: break
    text += part
sys.stdout.write(text.decode("utf-8", "replace").replace("\r\n", "\n"))
sys.exit(process.wait())
EOP
on_terminal() { timeout 100 python3 terminal.py "$@"; }
report | sed 's/^/paged: /' >paged
same "PAGER" "$(cat paged)" \
  "$(PAGER="sed 's/^/paged: /'" on_terminal "$patchbay" report -i e.dat)"
same "PATCHBAY_PAGER before it" "$(cat paged)" \
  "$(PAGER=false PATCHBAY_PAGER="sed 's/^/paged: /'" on_terminal "$patchbay" report -i e.dat)"
same "LESS has a default" FRX "$(
  unset LESS
  PAGER="printenv LESS" on_terminal "$patchbay" report -i e.dat
)"
plain=$(report)
same "--no-pager" "$plain" "$(PAGER=false on_terminal "$patchbay" report -i e.dat --no-pager)"
for none in "" cat; do
  same "PAGER='$none' is none" "$plain" "$(PAGER=$none on_terminal "$patchbay" report -i e.dat)"
done
has "a pager that is not there" \
  "$(PATCHBAY_PAGER=no-such-pager on_terminal "$patchbay" report -i e.dat)" \
  "'no-such-pager' cannot be run"
same "no pager in a pipe" "$plain" "$(PAGER=false report)"
PAGER=true on_terminal "$patchbay" report -i e.dat >out
same "a pager that is left at once is no error" "0 " "$? $(cat out)"
has "mistakes come before it" "$(PAGER=false on_terminal "$patchbay" report -i no.dat)" 'no\.dat'

# --- colours: without them the text is the plain one
plain_of() { sed 's/\x1b\[[0-9]*m//g'; }
escapes_of() { grep -o $'\e[^m]*m' | sort -u | tr -d $'\e' | paste -sd ' '; }
colored=$(report --color=always)
same "the same text" "$plain" "$(plain_of <<<"$colored")"
same "thread and event" "[0m [2m [36m" "$(escapes_of <<<"$colored")"
has "the event's name" "$colored" $'\e\\[36mapp_work\e\\[0m: thread='
fields=(--fields "comm,tid,cpu,event,n,trace")
same "columns: the same text" "$(report "${fields[@]}")" \
  "$(report "${fields[@]}" --color=always | plain_of)"
has "columns have them" "$(report "${fields[@]}" --color=always)" $'^\e\\[2mevent_app\e\\[0m\t'
same "groups: the same text" "$(report --group tid)" \
  "$(report --group tid --color=always | plain_of)"
has "their heads are bold" "$(report --group cpu --color=always)" $'^\e\\[1m# == cpu .* ==\e'
same "JSON has none" "$(cat json)" "$(report --json --color=always)"
same "--stat has none" "$(report --stat)" "$(report --stat --color=always)"

on_color() { TERM=xterm on_terminal "$@"; }
same "a terminal has them" "$colored" "$(PAGER='' on_color "$patchbay" report -i e.dat)"
same "--color=never" "$plain" "$(PAGER='' on_color "$patchbay" report -i e.dat --color=never)"
same "NO_COLOR" "$plain" "$(NO_COLOR=1 PAGER='' on_color "$patchbay" report -i e.dat)"
same "TERM=dumb" "$plain" "$(PAGER='' on_terminal "$patchbay" report -i e.dat)"
same "a pipe has none" "$plain" "$(TERM=xterm report)"
same "a pager has them" "$(sed 's/^/paged: /' <<<"$colored")" \
  "$(PAGER="sed 's/^/paged: /'" on_color "$patchbay" report -i e.dat)"
same "less lets them through" "-R iM" \
  "$(LESS=iM PAGER="printenv LESS" on_color "$patchbay" report -i e.dat)"
same "LESS is the user's without them" iM \
  "$(LESS=iM PAGER="printenv LESS" on_terminal "$patchbay" report -i e.dat)"

# durations, by their marks: this one is above 10 ms
"$patchbay" record -q -o g.dat -t function_graph -l clock_nanosleep -- sleep 0.02 2>err ||
  fail "record: $(cat err)"
has "a long call" "$(report -i g.dat --color=always)" $'\e\\[31m[*@$] [0-9.]+ us\e\\[0m +\\|'
same "its text" "$(report -i g.dat)" "$(report -i g.dat --color=always | plain_of)"

# lost events: a flight recorder that has overwritten its first ones
PATCHBAY_BUFFER_SIZE_KB=4 PATCHBAY_FUNCTION_EVENTS='counted(int thread, long i)' \
  PATCHBAY_TRACE_EVENT='functions:*' LD_PRELOAD=$agent \
  "$programs/shared_counter" "$work/counter" 1 0 2>err &
pid=$!
started $pid
lost_line() { report -i "$PATCHBAY_DIR/$pid" --color=always | grep -q '\[LOST'; }
wait_for 60 lost_line || fail "no event is lost: $(cat err)"
kill -9 $pid
wait $pid 2>/dev/null
"$patchbay" recover -o lost.dat "$PATCHBAY_DIR/$pid" >out 2>err || fail "recover: $(cat err)"
has "lost events are red" "$(report -i lost.dat --color=always)" \
  $'^\e\\[31mCPU:[0-9]+ \\[LOST .*EVENTS\\]\e\\[0m$'
same "their text" "$(report -i lost.dat)" "$(report -i lost.dat --color=always | plain_of)"

# bytes of programs: the name of one, and what it opens
name=$'ca\e[35mt'
cp "$(command -v cat)" "$name"
"$patchbay" record -q -o odd.dat -e 'open(string path)' -- "./$name" $'no\e[32m\e[31m' 2>err
same "they bring no colours" "[0m [2m [36m" "$(report -i odd.dat --color=always | escapes_of)"
has "they are there" "$(report -i odd.dat)" '->open\(path=no\\x1b\[32m\\x1b\[31m\)'
if command -v less >/dev/null; then  # it ends by itself: the lines fit on a screen
  less_shows=$(LESS=iM PAGER="less -F -X" on_color "$patchbay" report -i odd.dat --fields event)
  has "less shows colours" "$less_shows" $'\e\\[36m'
fi
same "nor where none are wanted" 0 "$(report -i odd.dat | grep -c $'\e')"
finish
