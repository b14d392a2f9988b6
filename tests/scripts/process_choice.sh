#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --tid, --pid, --comm, --exe, --tree over a recording of a tree of programs: each command that
# reads a recording takes the same events, and --by and --group tell the same apart. A recording of
# one process with forked children, and the buffers of a dead one, are chosen from in the same way.
#   process_choice.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1

# --- a shell that runs a program, and another shell that runs it twice
cat >tree.sh <<'EOS'
"$1"/graph_calls >/dev/null
bash -c '"$0"/graph_calls >/dev/null; "$0"/graph_calls >/dev/null; exit 3' "$1" & echo "$$ $!"
wait
exit 0
EOS
"$patchbay" record -q --follow -o tree.dat -t function_graph -l 'calls_*' \
  -e 'exit(int status)' -- bash tree.sh "$programs" >pids 2>err
same "record" 0 $?
read -r root branch <pids
"$patchbay" report --json tree.dat >all.json 2>err
"$patchbay" report --processes tree.dat >processes
# PID PARENT PROGRAM of each process, from the list.
awk 'NR > 1 { print $1, $2, $7 }' processes >people
same "who is in it" 5 "$(wc -l <people)"
mapfile -t runs < <(awk '$3 ~ /graph_calls$/ { print $1 }' people)
same "the program ran three times" 3 ${#runs[@]}
one=$(($(grep -c . all.json) / 3))  # events of a run: all but the two shells' exits
same "each run is alike" "$((3 * one + 2))" "$(grep -c . all.json)"
same "nobody else" "" "$(awk -v root="$root" -v branch="$branch" \
  '$1 != root && $1 != branch && $2 != root && $2 != branch' people)"

# chosen EVENTS CALLS OPTIONS… : in each command.
calls=$("$patchbay" graph --flat --json tree.dat 2>err | grep -o '"calls": [0-9]*' |
  awk '{ sum += $2 } END { print sum }')
sum_of_graph() {
  grep -o '"calls": [0-9]*' | awk '{ sum += $2 } END { print sum + 0 }'
}
chosen() {
  local events=$1 calls=$2
  shift 2
  same "report $*" "$events" "$("$patchbay" report --json "$@" tree.dat 2>err | wc -l)"
  same "report --stat $*" "$events" \
    "$("$patchbay" report --stat "$@" tree.dat 2>err | sed -n 's/^ *\([0-9]*\)  in all$/\1/p')"
  same "graph $*" "$calls" \
    "$("$patchbay" graph --flat --json "$@" -i tree.dat 2>err | sum_of_graph)"
  same "replay $*" "$calls" "$("$patchbay" replay --json "$@" tree.dat 2>err |
    grep -cE '"kind": ?"(call|begin)"')"
  same "export $*" "$events" "$("$patchbay" export --to jsonl -o out.jsonl "$@" tree.dat 2>&1 |
    sed -n 's/^patchbay export: \([0-9]*\) events* in .*/\1/p')"
  same "calls of the export $*" "$calls" \
    "$(grep -c '"call":{"type":"begin"' out.jsonl)"
  same "view $*" "$events" "$("$patchbay" view -o page.html "${@/--pid/-p}" tree.dat 2>&1 |
    sed -n 's/^\[ patchbay view: \([0-9]*\) records, .*/\1/p')"
}
check "there are calls" test "$calls" -gt 1000
per_run=$((calls / 3))
mapfile -t branch_runs < <(awk -v branch="$branch" '$2 == branch { print $1 }' people)
same "two of the runs are the second shell's" 2 ${#branch_runs[@]}
threads=$(grep -oE '"pid":[0-9]+' all.json | sort -u | cut -d: -f2)
same "each run has three threads" 11 "$(wc -l <<<"$threads")"
chosen $((3 * one)) "$calls" --exe graph_calls
chosen $((3 * one)) "$calls" --exe "$programs/gr*"
chosen 2 0 --exe bash
chosen 2 0 --comm bash
chosen $((3 * one)) "$calls" --comm 'graph_*'
chosen "$one" "$per_run" --pid "${branch_runs[0]}"
chosen $((2 * one)) $((2 * per_run)) --pid "${branch_runs[0]}" --pid "${branch_runs[1]}"
chosen $((2 * one + 1)) $((2 * per_run)) --tree "$branch"
chosen $((3 * one + 2)) "$calls" --tree "$root"
chosen $((2 * one)) $((2 * per_run)) --tree "$branch" --exe 'graph*'
chosen 0 0 --pid 1 --exe bash
same "--tid is of one thread" "$(grep -c "\"pid\":${runs[0]}," all.json)" \
  "$("$patchbay" report --json --tid "${runs[0]}" tree.dat 2>err | wc -l)"
same "-P, too" "$(grep -c "\"pid\":${runs[0]}," all.json)" \
  "$("$patchbay" report --json -P "${runs[0]}" tree.dat 2>err | wc -l)"

# --- flame graphs: as many nanoseconds as all runs have together
folded() {
  "$patchbay" report --folded "$@" tree.dat 2>/dev/null |
    awk '{ sum += $NF } END { print sum }'
}
each=0
for pid in "${runs[@]}"; do each=$((each + $(folded --pid "$pid"))); done
same "--folded of each run" "$(folded)" "$each"
same "--folded --tree" "$(($(folded) - $(folded --pid "$(awk -v root="$root" \
  '$2 == root && $3 ~ /graph_calls/ { print $1 }' people)")))" "$(folded --tree "$branch")"
"$patchbay" report --folded --exe bash tree.dat >out 2>err
same "--folded of who has no calls" 1 $?
has "is said" "$(cat err)" 'belong to those who were chosen'
"$patchbay" report --flame flame.svg --group pid --exe graph_calls tree.dat 2>err
same "--flame" 0 $?
for pid in "${runs[@]}"; do
  check "--flame --group pid has $pid" grep -q ">$pid (graph_calls)" flame.svg
done

# --- groups
by() {
  "$patchbay" graph --flat --by "$1" -i tree.dat 2>/dev/null |
    sed -n 's/^# \([a-z]*: .*\)/\1/p' | grep -v '^calls: ' | sort
}
same "--by exe" "program: $programs/graph_calls" "$(by exe)"
same "--by comm" "threads: graph_calls" "$(by comm)"
same "--by pid" "$(printf 'process: %s (graph_calls)\n' "${runs[@]}" | sort)" "$(by pid)"
same "--by tid" 9 "$(by tid | grep -c '^thread: graph_calls-')"
same "--per-thread is --by tid" "$("$patchbay" graph --per-thread -i tree.dat 2>err)" \
  "$("$patchbay" graph --by tid -i tree.dat 2>err)"
same "--by pid --json" "$per_run" "$("$patchbay" graph --flat --json --by pid -i tree.dat 2>err |
  grep "\"pid\": ${runs[0]}, \"process\": \"graph_calls\"" | sum_of_graph)"
heads() {
  "$patchbay" report "$@" tree.dat 2>/dev/null |
    sed -n 's/^# == \(.*\) ==$/\1/p' | grep -v '^all$' | sort
}
for what in exe comm pid; do
  same "--group $what: --stat has the groups of the lines" "$(heads --group $what)" \
    "$(heads --group $what --stat)"
done
same "--group exe" "2 $((3 * one))" \
  "$(heads --group exe | sed -nE 's/.*(bash|graph_calls): ([0-9]+) events/\2/p' |
    sort -n | xargs)"
same "--group pid" 5 "$(heads --group pid --stat | grep -c '^process ')"
same "the sums of the groups are all" $((3 * one + 2)) "$(heads --group pid --stat |
  sed 's/.*: \([0-9]*\) event.*/\1/' | awk '{ sum += $1 } END { print sum }')"

# --- one process and the children that it has forked
"$patchbay" record -q -o fork.dat -e 'traced(int n)' -- "$programs/fork_children" >out 2>err
same "record of forks" 0 $?
all=$("$patchbay" report --json fork.dat 2>err | wc -l)
"$patchbay" report --group pid fork.dat 2>err | sed -n 's/^# == process \([0-9]*\) .*/\1/p' >forked
whole=0
while read -r pid; do
  same "--pid $pid of the forks" "$("$patchbay" report --group pid fork.dat 2>err |
    sed -n "s/^# == process $pid .*: \([0-9]*\) events\{0,1\} ==/\1/p")" \
    "$("$patchbay" report --json --pid "$pid" fork.dat 2>err | wc -l)"
  tree=$("$patchbay" report --json --tree "$pid" fork.dat 2>err | wc -l)
  check "--tree $pid is not empty" test "$tree" -ge 1
  whole=$((whole + (tree == all)))
done <forked
same "all are of the tree of the first one, and of no other" 1 $whole

# --- mistakes
refused() {
  "$patchbay" "${@:2}" >out 2>err
  same "${*:2}" 2 $?
  has "${*:2}: why" "$(cat err)" "$1"
}
refused '--tree takes numbers' report --tree x tree.dat
refused '--pid takes numbers' graph --pid 3-1 -i tree.dat
refused '--comm takes a name' replay --comm '' tree.dat
refused '--by takes exe, comm, pid or tid' graph --by cpu -i tree.dat
refused 'about a recording' view -p 1 --exe bash
finish
