#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay hist and latency of several running processes: the sums are what the processes were told
# to do, whoever ends or is killed meanwhile or lacks the event; quantiles are those of all times;
# nothing is left behind.
#   measure_many.sh BUILD_DIR [REGEX]      the stories whose name the REGEX finds; all
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1
[[ -x $build/tests/attach/forks ]] || skip "the programs of tests/attach were not built"
wanted=${1:-}
begin() { [[ $1 =~ $wanted ]] && echo "  $1"; }

# --- processes that do what they are told: `forks` of tests/attach, each in a folder of its own

# new NAME [WORD…] : pid_of[NAME]
declare -A pid_of
new() {
  mkdir -p "$work/$1"
  rm -f "$work/$1"/*
  mkfifo "$work/$1/first.in"
  "${@:2}" "${program:-$build/tests/attach/forks}" "$work/$1" >/dev/null 2>&1 &
  disown $!
  wait_for 20 grep -q ready "$work/$1/first.out" || fail "$1 did not start"
  pid_of[$1]=$(awk '$1 == "ready" { print $2; exit }' "$work/$1/first.out")
  started "${pid_of[$1]}"
}
# tell NAME COMMAND [WHO] : one line; its answer is waited for.
tell() {
  local who=${3:-first} before
  before=$(wc -l <"$work/$1/$who.out")
  echo "$2" >"$work/$1/$who.in"
  wait_for 60 eval "((\$(wc -l <'$work/$1/$who.out') > $before))" ||
    fail "$1 does not answer to $2"
}
end_all() {
  local name
  for name in "${!pid_of[@]}"; do kill -9 "${pid_of[$name]}" 2>/dev/null; done
  pid_of=()
}

# --- the tool

# measure N WORD… : in the background, until so many processes count. Sets tool.
measure() {
  local count=$1 counted=''
  shift
  "$patchbay" "$@" >out 2>err &
  tool=$!
  started $tool
  # One look decides: a process that is left out soon may have its histograms for a moment.
  wait_for 60 eval "counted=\$(counting); ((counted == $count)) || ! kill -0 $tool 2>/dev/null"
  same "$1 ${*: -1}: who counts ($(cat err))" "$count" "$counted"
}
# counting : how many processes have all histograms of the tool. The file of what it uses is written
# to the end when they are there, and its lock is free.
counting() {
  local name count=0 triggers
  for name in "${!pid_of[@]}"; do
    triggers=$("$patchbay" cat "${pid_of[$name]}" \
      "instances/patchbay-$tool-1/events/${event:-functions/tick}/trigger" 2>/dev/null |
      grep -c '^hist')
    ((triggers == ${histograms:-1})) && count=$((count + 1))
  done
  echo $count
}
# recorded : in how many processes the tool has switched an event on.
recorded() {
  local name count=0
  for name in "${!pid_of[@]}"; do
    "$patchbay" cat "${pid_of[$name]}" "instances/patchbay-$tool-1/set_event" 2>/dev/null |
      grep -q . && count=$((count + 1))
  done
  echo $count
}
stop() {
  kill -INT $tool
  ended
}
ended() {
  wait $tool
  status=$?
}
hits() { sed -n "s/^    Hits: //p" out | tail -n 1; }
# nothing_left STORY [STATE] : also an agent that is in this state may be there.
nothing_left() {
  local name pid
  for name in "${!pid_of[@]}"; do
    pid=${pid_of[$name]}
    [[ -e /proc/$pid/exe ]] || continue
    same "$1: the agent of $name is asleep, or was there before" "" \
      "$("$patchbay" list processes | grep "^ *$pid " | grep -vE "asleep|preloaded${2:+|$2}")"
    [[ -e $PATCHBAY_DIR/$pid ]] || continue
    same "$1: no instance, event or trigger in $name" "" \
      "$("$patchbay" ls "$pid" instances; "$patchbay" cat "$pid" dynamic_events
        "$patchbay" cat "$pid" function_events | grep -v '^#'
        "$patchbay" cat "$pid" synthetic_events)"
  done
}
# n_table N… : what a single process would show that has called tick(0 … N - 1) for each N.
n_table() {
  python3 - "$@" <<'END'
import sys
hits, sums = {}, {}
for count in map(int, sys.argv[1:]):
    for n in range(count):
        start = n // 100 * 100
        hits[start] = hits.get(start, 0) + 1
        sums[start] = sums.get(start, 0) + n
for start in sorted(hits, key=lambda start: sums[start]):
    print(f"{{ n: ~ {start}-{start + 99} }} hitcount: {hits[start]:10}  n: {sums[start]:10}")
END
}
keys=(keys=n.buckets=100 vals=n sort=n)

if begin sql; then
  new one; new two env LD_PRELOAD="$agent"
  measure 2 sql -e 'tick(int n)' 'SELECT CAST(n AS BUCKETS=100), CAST(n AS _COUNTER_) FROM tick' \
    -p "${pid_of[one]},${pid_of[two]}"
  tell one "work 300"; tell two "work 250"
  stop
  same "sql: status" 0 $status
  same "sql: the hits of both" 550 "$(hits)"
  has "sql: a bucket of both" "$(cat out)" 'n: ~ 100-199 +\} hitcount: +200 '
  # Pairs of a call and its return, each in one process.
  measure 2 sql -e 'tick(int n)' -e 'r:back tick value=$retval:s32' \
    'SELECT a.n AS number, b.value AS value FROM tick AS a
     JOIN back AS b ON a.common_pid = b.common_pid' -p "${pid_of[one]}" -p "${pid_of[two]}"
  for name in one two; do
    wait_for 60 eval "\"$patchbay\" cat ${pid_of[$name]} instances/patchbay-$tool-1/set_event |
      grep -q synthetic" || fail "the rows of $name are not recorded"
  done
  tell one "work 30"; tell two "work 20"
  stop
  same "sql, rows: status" 0 $status
  for name in one two; do
    same "sql, rows: of $name" "$(seq 0 $(($([[ $name == one ]] && echo 30 || echo 20) - 1)))" \
      "$(sed -nE "s/^ *forks-${pid_of[$name]} .*number=([0-9]+) value=\1$/\1/p" out)"
  done
  nothing_left sql
  end_all
fi

if begin sums; then
  new one; new two env LD_PRELOAD="$agent"; new three
  measure 3 hist 'tick(int n)' "${keys[@]}" -p "${pid_of[one]}" -p "${pid_of[two]},${pid_of[three]}"
  tell one "work 1000"; tell two "work 2345"; tell three "thread 77"; tell two "work 1"
  stop
  same "sums: status and errors" "0 " "$status $(cat err)"
  same "sums: the table" "$(n_table 1000 2345 77 1)" "$(grep '^{' out)"
  same "sums: hits" 3423 "$(hits)"
  has "sums: the definition" "$(cat out)" \
    '^# trigger info: hist:keys=n.buckets=100:vals=hitcount,n:sort=n:size=2048 \[active\]$'
  nothing_left sums
  # What a single process shows is the same text.
  measure 1 hist 'tick(int n)' keys=common_flags 'vals=n.quantiles,hitcount.percent' \
    -p "${pid_of[one]}"
  tell one "work 1000"; tell one "work 500"; tell one "work 3000"
  stop
  mv out single
  measure 3 hist 'tick(int n)' keys=common_flags 'vals=n.quantiles,hitcount.percent' \
    -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  tell one "work 1000"; tell two "work 500"; tell three "work 3000"
  stop
  same "sums: quantiles and shares are those of one process" "$(<single)" "$(<out)"
  nothing_left "sums, again"
  # What an action keeps is that of the process with the largest value.
  measure 2 hist 'tick(int n)' keys=common_flags 'x=n' 'onmax($x).save(common_pid)' \
    -p "${pid_of[one]},${pid_of[two]}"
  tell one "work 30"; tell two "work 40"
  stop
  has "sums: an action" "$(cat out)" $'^\tmax: +39  common_pid: +'"${pid_of[two]}$"
  same "sums: the hits beside it" 70 "$(hits)"
  nothing_left "sums, with an action"
  end_all
fi

if begin one_ends; then
  new one; new two; new three
  measure 3 hist 'tick(int n)' "${keys[@]}" --per-process \
    -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  tell one "work 300"; tell two "work 400"; tell three "work 500"
  echo end >one/first.in
  wait_for 20 eval "! kill -0 ${pid_of[one]} 2>/dev/null"
  # A killed one is counted as it was at the last look: they are 2 s apart at most.
  sleep 5
  kill -9 "${pid_of[two]}"
  tell three "work 50"
  wait_for 20 eval "! kill -0 ${pid_of[two]} 2>/dev/null"
  sleep 1
  stop
  same "one ends: the sum" "$(n_table 300 400 500 50)" \
    "$(sed -n '/^# 3 processes/,$p' out | grep '^{')"
  has "one ends: who there was" "$(cat out)" '^# 3 processes, 2 of them ended$'
  for name in one two three; do
    has "one ends: the table of $name" "$(cat out)" "^# process ${pid_of[$name]} .*/forks"
  done
  same "one ends: the table of one" "$(n_table 300)" \
    "$(sed -n "/^# process ${pid_of[one]} /,/^Totals/p" out | grep '^{')"
  has "one ends: the killed one" "$(cat err)" \
    "process ${pid_of[two]} \(forks\) did not end by exit\(\); what it counted is that of [0-9.]+ s"
  same "one ends: and no other word" 1 "$(wc -l <err)"
  nothing_left "one ends"
  "$patchbay" hist 'tick(int n)' "${keys[@]}" --per-process \
    -p "${pid_of[three]},${pid_of[three]}" >out 2>err
  same "one that is named twice is one: status" 2 $?
  has "one that is named twice is one" "$(cat err)" 'per-process is about several processes'
  end_all
  # All end, and the tool with them.
  new one; new two
  measure 2 hist 'tick(int n)' "${keys[@]}" -p "${pid_of[one]},${pid_of[two]}"
  tell one "work 12"; tell two "work 13"
  echo end >one/first.in; echo end >two/first.in
  ended
  same "all end: the sum" "0 $(n_table 12 13)" "$status $(grep '^{' out)"
  end_all
fi

if begin one_lacks; then
  new one; new two
  sleep 600 &
  other=$!
  started $other
  measure 2 hist 'tick(int n)' "${keys[@]}" --json --per-process \
    -p "${pid_of[one]},$other,${pid_of[two]}"
  wait_for 60 grep -q 'is not in the sums' err
  tell one "work 10"; tell two "work 20"
  stop
  has "one lacks it: it is said" "$(cat err)" \
    "process $other \(sleep\) is not in the sums: .*tick"
  same "one lacks it: the sums as JSON" "0 30 3 $other [10, 20] 30" "$status $(python3 - <<'END'
import json
with open("out") as file:
    table = json.load(file)
lines = table["entries"]
print(table["hits"], len(table["processes"]) + len(table["refused"]), table["refused"][0]["pid"],
      sorted(one["hits"] for one in table["processes"]),
      sum(line["values"]["hitcount"] for line in lines))
END
  )"
  "$patchbay" hist 'tick(int n)' "${keys[@]}" -p "$other,$$" >out 2>err
  same "all lack it: status" 1 $?
  has "all lack it" "$(cat err)" "None of the processes can be counted.*tick"
  nothing_left "one lacks it"
  "$patchbay" hist 'tick(int n)' keys=n -p "${pid_of[one]},$other" -- true >out 2>err
  same "processes and a program" 2 $?
  kill $other
  end_all
fi

if begin group; then
  # Those that carry an agent.
  new one env LD_PRELOAD="$agent"; new two env LD_PRELOAD="$agent"; new three
  measure 2 hist 'tick(int n)' "${keys[@]}" --all
  tell one "work 100"; tell two "work 150"; tell three "work 200"
  stop
  same "--all" "0 $(n_table 100 150)" "$status $(grep '^{' out)"
  end_all
fi

# fork NAME : a child of NAME, "kid". Sets kid.
fork() {
  mkfifo "$work/$1/kid.in"
  tell "$1" "fork kid"
  wait_for 20 grep -q ready "$work/$1/kid.out" || fail "the child of $1 did not start"
  kid=$(awk '$1 == "ready" { print $2; exit }' "$work/$1/kid.out")
  started "$kid"
}
if begin forked; then
  # A child counts in its parent's table: also one that is named.
  new one env LD_PRELOAD="$agent"; new two
  fork one
  measure 2 hist 'tick(int n)' "${keys[@]}" -p "${pid_of[one]},$kid,${pid_of[two]}"
  tell one "work 10"; tell one "work 200" kid; tell two "work 3"
  fork two
  tell two "work 50" kid
  stop
  same "forked" "0 $(n_table 10 200 3 50)" "$status $(grep '^{' out)"
  same "forked: no other word" "" "$(cat err)"
  nothing_left forked
  end_all
fi

if begin silent; then
  new one; new two
  measure 2 hist 'tick(int n)' "${keys[@]}" -p "${pid_of[one]},${pid_of[two]}"
  tell one "work 10"; tell two "work 20"
  sleep 5 # until a look has seen it: they are 2 s apart at most
  stop_whole "${pid_of[two]}"
  stop
  same "silent: the sum" "0 $(n_table 10 20)" "$status $(grep '^{' out)"
  has "silent: its counts are old" "$(cat err)" \
    "process ${pid_of[two]} \(forks\) does not answer .*what it counted is that of [0-9.]+ s ago"
  same "silent: and nobody else's" 1 "$(grep -c 'what it counted' err)"
  kill -CONT "${pid_of[two]}"
  end_all
fi

if begin types; then
  # Tables of one name and other types cannot be added up.
  new one env LD_PRELOAD="$agent"; new two env LD_PRELOAD="$agent"
  new three env LD_PRELOAD="$agent"
  "$patchbay" write "${pid_of[one]}" dynamic_events 'p:kinds/beat tick n=%di:s32'
  "$patchbay" write "${pid_of[two]}" dynamic_events 'p:kinds/beat tick n=%di:u64'
  "$patchbay" write "${pid_of[three]}" dynamic_events 'p:kinds/beat tick n=%di:s32 m=%di:u8'
  event=kinds/beat measure 2 hist kinds:beat keys=n \
    -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  tell one "work 2"; tell two "work 2"; tell three "work 1"
  stop
  same "types: the sum" "3 1" "$(hits) $(wc -l <err)"
  has "types: whose table is another one" "$(cat err)" \
    "process ${pid_of[two]} .*its fields are other ones \(n: 8 bytes, unsigned\)"
  end_all
fi

group=$(make_group "patchbay-test-$$")
trap '[[ ! $group ]] || remove_group "$group"; cleanup' EXIT
# in_group NAME
in_group() { echo "${pid_of[$1]}" >"$group/cgroup.procs"; }
if [[ -z $group ]]; then
  echo "SKIPPED: measure_many.sh: no control group can be made here: --cgroup was not tested"
elif begin cgroup; then
  new one; new two; new three; new other
  in_group one
  measure 1 hist 'tick(int n)' "${keys[@]}" --cgroup "$group"
  tell one "work 100"; tell other "work 1000"
  in_group two; in_group three
  wait_for 60 eval '(($(counting) == 3))' || fail "those that come are not counted: $(cat err)"
  tell two "work 50"; tell three "work 60"
  echo end >two/first.in
  wait_for 20 eval "! kill -0 ${pid_of[two]} 2>/dev/null"
  sleep 5 # its counts are with those of others that are gone
  tell one "work 7"
  stop
  same "cgroup" "0 $(n_table 100 50 60 7)" "$status $(grep '^{' out)"
  same "cgroup: no word" "" "$(cat err)"
  nothing_left cgroup
  end_all
fi

# A child outlives the parent that it counts with: it counts for itself, or it is said that it
# cannot.
if begin orphan; then
  for row in "preloaded leave" "attached leave" "attached exec"; do
    read -r mode end <<<"$row"
    how=()
    [[ $mode == attached ]] || how=(env LD_PRELOAD="$agent")
    new one "${how[@]}"; new two
    [[ $mode == preloaded ]] ||
      "$patchbay" attach "${pid_of[one]}" >/dev/null 2>&1 || fail "orphan: no agent"
    mkfifo one/kid.in
    tell one "let kid"
    wait_for 20 grep -q ready one/kid.out || fail "orphan: no child"
    kid=$(awk '$1 == "ready" { print $2; exit }' one/kid.out)
    started "$kid"
    measure 2 hist 'tick(int n)' "${keys[@]}" -p "${pid_of[one]},$kid,${pid_of[two]}"
    tell one "work 10"; tell one "work 20" kid
    parent=${pid_of[one]}
    [[ $end == leave ]] || sleep 5 # what an exec takes with it has been looked at
    echo "$end" >one/first.in
    wait_for 20 eval "! kill -0 $parent 2>/dev/null || grep -q sleep /proc/$parent/comm"
    pid_of[one]=$kid
    if [[ $mode == attached ]]; then
      wait_for 20 eval '(($(counting) == 2))' || fail "orphan, $mode: not counted: $(cat err)"
      word="counts for itself since process $parent has ended; what it did in between is not in"
      own=30
    else
      wait_for 20 grep -q "$kid" err || fail "orphan, $mode: it is not said while it counts"
      word="is not in the sums: counted with process $parent, which has ended; alone it cannot"
      own=0
    fi
    tell one "work 30" kid; tell two "work 40"
    stop
    same "orphan, $mode, $end: the sum" "0 $(n_table 10 20 $own 40)" "$status $(grep '^{' out)"
    has "orphan, $mode, $end: what may be missing" "$(cat err)" "process $kid \(forks\) $word"
    same "orphan, $mode, $end: and no other word" 1 "$(grep -vc 'did not end by exit' err)"
    [[ $mode == preloaded ]] || nothing_left "orphan, $mode, $end" attached
    kill -9 "$parent" 2>/dev/null
    end_all
  done
fi
if begin top_orphan; then
  # The same of top, which goes on with the child alone.
  new one
  "$patchbay" attach "${pid_of[one]}" >/dev/null 2>&1 || fail "top orphan: no agent"
  mkfifo one/kid.in
  tell one "let kid"
  wait_for 20 grep -q ready one/kid.out || fail "top orphan: no child"
  kid=$(awk '$1 == "ready" { print $2; exit }' one/kid.out)
  started "$kid"
  "$patchbay" top -p "${pid_of[one]},$kid" -l tick --json -d 0.2 -o table 2>err &
  tool=$!
  started $tool
  wait_for 20 test -s table
  tell one "work 20"; tell one "work 5" kid
  wait_for 20 grep -q '"calls": 25,' table
  echo leave >one/first.in
  wait_for 20 grep -q "process $kid (forks) counts for itself since process ${pid_of[one]}" err ||
    fail "top orphan: it is not said: $(cat err)"
  tell one "work 7" kid
  wait_for 20 grep -q '"calls": 32,' table || fail "top orphan: $(tail -n 1 table)"
  check "top orphan: it goes on" kill -0 $tool
  stop
  same "top orphan: status" 0 "$status"
  pid_of[one]=$kid
  end_all
fi

# --exe, --comm, --tree: of those that are named, of all that are there, and of those that come.
if begin choice; then
  cp "$build/tests/attach/forks" left_alone || fail "choice: no copy"
  cp "$build/tests/attach/forks" chosen_one
  program=$work/left_alone new other
  program=$work/chosen_one new one
  program=$work/chosen_one new two
  all=${pid_of[one]},${pid_of[two]},${pid_of[other]}
  measure 2 hist 'tick(int n)' "${keys[@]}" -p "$all" --exe "$work/chos*"
  tell one "work 10"; tell two "work 20"; tell other "work 40"
  stop
  same "choice: of those that are named" "0 $(n_table 10 20)" "$status $(grep '^{' out)"
  same "choice: no word of those that are named" "" "$(cat err)"
  nothing_left choice
  # Of all, and of those that come.
  measure 2 hist 'tick(int n)' "${keys[@]}" --exe chosen_one
  program=$work/chosen_one new three
  program=$work/left_alone new fourth
  wait_for 60 eval '(($(counting) == 3))' || fail "choice: who comes is not counted: $(cat err)"
  for name in one two three other fourth; do tell $name "work 7"; done
  stop
  same "choice: of all and those that come" "0 $(n_table 7 7 7)" "$status $(grep '^{' out)"
  nothing_left "choice, of all"
  event=functions/call_tick histograms=1 measure 3 latency 'tick(int n)' --comm 'chosen_*' --json
  for name in one two three other; do tell $name "work 5"; done
  stop
  same "choice: latency by a name" 15 "$(python3 -c '
import json
print(sum(one["hits"] for one in json.load(open("out"))["distributions"]))')"
  nothing_left "choice, latency"
  # sql records the rows of those that are chosen.
  "$patchbay" sql -e 'tick(int n)' 'SELECT n FROM tick' --exe chosen_one >out 2>err &
  tool=$!
  started $tool
  wait_for 60 eval '(($(recorded) == 3))' || fail "choice: sql: $(cat err)"
  for name in one two three other; do tell $name "work 6"; done
  stop
  same "choice: sql" "0 18" "$status $(hits)"
  "$patchbay" record -e 'tick(int n)' --exe chosen_one -o chosen.dat 2>err &
  tool=$!
  started $tool
  wait_for 60 eval '(($(recorded) == 3))' || fail "choice: record: $(cat err)"
  for name in one two three other; do tell $name "work 6"; done
  stop
  same "choice: record" "0 18" "$status $("$patchbay" report chosen.dat | grep -c 'tick(')"
  # Nobody.
  "$patchbay" hist 'tick(int n)' keys=n -p "$all" --exe nobody --comm x >out 2>err
  same "choice: nobody is chosen" 1 $?
  has "choice: it is said" "$(cat err)" '--exe nobody --comm x: none of the 3 processes is chosen'
  "$patchbay" top -p "${pid_of[one]}" --exe left_alone --once >out 2>err
  same "choice: the one is not chosen" 1 $?
  has "choice: that is said, too" "$(cat err)" '--exe left_alone: the process is not chosen'
  "$patchbay" top --exe "$work/nobody" --once -d 0.1 >out 2>err
  has "choice: nobody yet" "$(cat err)" "no process is chosen by --exe $work/nobody yet"
  "$patchbay" hist 'tick(int n)' keys=n --tree x >out 2>err
  same "choice: no number" 2 $?
  "$patchbay" hist 'tick(int n)' keys=n --exe chosen_one -- true >out 2>err
  same "choice: and a program" 2 $?
  end_all
  # A shell, what it has started, and what it starts later; also when it has ended.
  mkdir -p kid late
  rm -f kid/* late/*
  mkfifo kid/first.in late/first.in go end
  bash -c '"$0" kid >/dev/null & read -r <go; "$0" late >/dev/null & read -r <end' \
    "$build/tests/attach/forks" 2>/dev/null &
  shell=$!
  disown $shell
  started $shell
  pid_in() {
    wait_for 20 grep -q ready "$1/first.out" || fail "choice: $1 did not start"
    pid_of[$1]=$(awk '$1 == "ready" { print $2; exit }' "$1/first.out")
    started "${pid_of[$1]}"
  }
  pid_in kid
  new other
  gone=$("$patchbay" hist 'tick(int n)' keys=n --tree 4194300 2>&1)
  has "choice: no such tree" "$gone" '--tree 4194300: there is no such process'
  "$patchbay" top --tree $shell -l tick --json --per-process -d 0.2 -o tree.json 2>err &
  tool=$!
  started $tool
  is_profiled() { [[ $("$patchbay" cat "$1" function_profile_enabled 2>/dev/null) == 1 ]]; }
  wait_for 60 is_profiled "${pid_of[kid]}" || fail "choice: the child is not profiled: $(cat err)"
  wait_for 20 test -s tree.json
  echo >go
  pid_in late
  wait_for 60 is_profiled "${pid_of[late]}" || fail "choice: the late one is not: $(cat err)"
  echo >end
  wait_for 20 eval "! kill -0 $shell 2>/dev/null"
  for name in kid late other; do tell $name "work 11"; done
  wait_for 20 eval 'tail -n 1 tree.json | grep -q "\"calls\": 22,"' ||
    fail "choice: the tree: $(tail -n 1 tree.json)"
  stop
  same "choice: top --tree" 0 "$status"
  end_all
fi

if begin latency; then
  new one; new two; new three
  event=functions/call_tick histograms=1 \
    measure 3 latency 'tick(int n)' -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  # The events that are counted go into the buffer of the instance, too.
  for name in one two three; do
    "$patchbay" write "${pid_of[$name]}" \
      "instances/patchbay-$tool-1/events/functions/call_tick/enable" 1 ||
      fail "the latencies of $name cannot be recorded"
  done
  tell one "work 500"; tell two "work 900"; tell three "thread 1300"
  for name in one two three; do
    "$patchbay" cat "${pid_of[$name]}" "instances/patchbay-$tool-1/trace"
  done | sed -n 's/.* duration=\([0-9]*\).*/\1/p' >latencies
  stop
  same "latency: status and errors" "0 " "$status $(cat err)"
  same "latency: all were recorded" 2700 "$(wc -l <latencies)"
  same "latency: quantiles, bars and sums are those of all" "" "$(python3 - <<'END'
import re
times = sorted(int(line) for line in open("latencies"))
units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
text = open("out").read()
head = re.search(r"^(\d+) times, (\S+) (\w+), ", text, re.M)
if int(head[1]) != len(times):
    print("times:", head[1])
if abs(float(head[2]) * units[head[3]] - sum(times)) > sum(times) * 0.01:
    print("sum:", head[0], sum(times))
for name, per_mille in (("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999), ("max", 1000)):
    shown = re.search(rf" {re.escape(name)} (\S+) (\w+)", text)
    value = float(shown[1]) * units[shown[2]]
    exact = times[max((len(times) * per_mille + 999) // 1000, 1) - 1]
    # 1/64 of the range, and three digits that are shown.
    if abs(value - exact) > exact / 64 + exact / 150 + 1:
        print(name, value, exact)
bars = {}
for line in times:
    power = line.bit_length()
    bars[power] = bars.get(power, 0) + 1
shown = [int(count) for count in re.findall(r"(\d+) \|", text)]
if [count for count in shown if count] != [bars[power] for power in sorted(bars)]:
    print("bars:", shown, bars)
END
  )"
  nothing_left latency attached  # `write` has made it stay
  for name in one two three; do "$patchbay" detach "${pid_of[$name]}" >/dev/null 2>&1; done
  event=functions/call_tick histograms=1 \
    measure 3 latency 'tick(int n)' --by n --json \
    -p "${pid_of[one]},${pid_of[two]},${pid_of[three]}"
  tell one "work 2"; tell two "work 3"; tell three "work 1"
  stop
  same "latency --by, as JSON" "3 [('0', 3), ('1', 2), ('2', 1)]" "$(python3 - <<'END'
import json
with open("out") as file:
    found = json.load(file)
print(len(found["processes"]),
      sorted((one["by"], one["hits"]) for one in found["distributions"]))
END
  )"
  nothing_left "latency --by"
  end_all
  # Who is left out has no part in how the result is read.
  new one env LD_PRELOAD="$agent"; new two env LD_PRELOAD="$agent"
  for row in "one x64" "two s64"; do
    read -r name type <<<"$row"
    "$patchbay" write "${pid_of[$name]}" dynamic_events "p:kinds/beat tick n=%di:$type"
    "$patchbay" write "${pid_of[$name]}" dynamic_events 'r:kinds/after tick'
  done
  event=synthetic/latency histograms=1 \
    measure 1 latency kinds:beat kinds:after --by n --json -p "${pid_of[one]},${pid_of[two]}"
  wait_for 60 grep -q "is not in the sums" err
  tell one "work 12"
  stop
  has "latency: one is left out" "$(cat err)" "process ${pid_of[two]} .* is not in the sums"
  has "latency: the other's values are its own" "$(cat out)" '"by": "0xb"'
  end_all
fi
finish
