#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Trace arrays and printk of a program that traces itself (patchbay/trace.h): references,
# events, snapshots; lines out of handlers, children, killed programs; what trace, report, trace-cmd
# and the table of formats say of them; a thousand instances beside a busy one.
#
#   api_trace_array.sh BUILD_DIR [SEED]
. "$(dirname "$0")/common.bash"
cd "$work" || exit
program=$programs/api_trace_array
[[ -x $program ]] || skip "no $program"

header_compiles trace.h "gcc -x c -std=c11" "g++ -x c++ -std=c++20"

for part in references events recording snapshots fork; do
  same "$part" ok "$("$program" $part 2>&1)"
done
same "lines out of a signal handler" ok "$(timeout 100 "$program" signals 2>&1)"

# --- without an agent, and without the usual places
same "no agent" ok "$(PATCHBAY_DIR=/proc/nowhere "$program" nothing 2>/dev/null)"

# --- a busy instance, and a thousand others
seed=${1:-$RANDOM}
echo "seed $seed"
out=$("$program" churn 1000 "$seed" 2>churn)
same "a thousand instances (seed $seed): $(cat churn)" ok "$out"
check "which says what it took" grep -q '^churn: 1000 instances' churn
same "their directories are gone" "" "$(find "$PATCHBAY_DIR" -name 'churn*')"

# --- lines of all kinds: the program's buffers are there when it has ended
"$program" printk >out 2>&1
same "lines" ok "$(cat out)"
directory=$(ls -d "$PATCHBAY_DIR"/[0-9]*/ | while read -r d; do
  [[ -e $d/instances/pr/buffer ]] && echo "$d"; done | tail -n 1)
# The text behind the time, without columns.
texts() { sed -nE 's/^.*\] +(\.{5}|[^ ]+) +[0-9.]+: //p'; }
report=$("$patchbay" report -i "$directory/instances/pr/buffer" | texts)
expected='print_lines: two integers 1 -2
print_lines: text is -5 of abc at 7
print_lines: aligned |42    |    ab|cd    |x|    7
print_lines: bad (null) (fault) end
print_lines: real 3.142 and 1e+10
print_lines: quote "q" tab\t back\slash 99%
print_lines: no arguments
print_lines: a "quote" without arguments
print_lines: a format in memory 1 one 0.500000
print_lines: ANOTHERt in memory 2 two 1.500000
vprint: through a list 3 three
0x0: without a place
print_lines: pointer 0x1234
print_lines: its own option 1'
same "a report of the instance" "$expected" "$report"

# --- what trace-cmd says of the same records, out of a trace.dat
record() { "$patchbay" record -o "$1" -e apitest:tick -B pr -e apitest:tick -- "$program" printk; }
record t.dat >out 2>err
has "recorded" "$(cat out err)" '^ok$'
ours=$("$patchbay" report -i t.dat | texts)
has "our report of a trace.dat" "$ours" '^print_lines: two integers 1 -2$'
has "floats in it" "$ours" '^print_lines: real 3.142 and 1e\+10$'
has "lines of the top instance" "$ours" '^print_lines: hello 5 world$'
has "a constant text" "$ours" '^print_lines: a constant$'
has "a text in memory" "$ours" '^print_lines: a text in memory$'
if command -v trace-cmd >/dev/null; then
  # It has no floats, and shows their bytes as a number.
  theirs=$(trace-cmd report -i t.dat 2>/dev/null | sed -nE 's/^.* (bprint|bputs|print): +//p' |
    sed 's/ *$//' | grep -v 'real ' | sort)
  same "trace-cmd says the same" \
    "$(grep -E '^(print_lines|vprint|0x0|before_main): ' <<<"$ours" | grep -v 'real ' |
      sed 's/\\t/\t/g' | sort)" "$theirs"
else
  echo "no trace-cmd: its report is not compared"
fi
finish
