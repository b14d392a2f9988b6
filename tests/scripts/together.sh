#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Commands on a running process, again and again and several at once: each has its own events, and
# the process is left as it was found, also when a command fails half-way, is ended or killed.
. "$(dirname "$0")/common.bash"
cd "$work" || exit 1
LD_PRELOAD=$agent "$programs/steady" >/dev/null 2>&1 &
pid=$!
started $pid
wait_for 20 "$patchbay" cat $pid tracing_on || fail "the process has no agent"
work_of='work(long n, string name)'

# All that a command could have changed.
state() {
  local file
  for file in function_events dynamic_events set_event current_tracer set_ftrace_filter \
    set_ftrace_notrace set_graph_function max_graph_depth set_event_pid set_ftrace_pid tracing_on \
    trace_options trace_clock function_profile_enabled function_tracers show_event_filters \
    show_event_triggers options/graph-time; do
    echo "== $file"
    "$patchbay" cat $pid $file
  done
  "$patchbay" ls $pid instances
  (cd "$PATCHBAY_DIR/$pid" && echo uses.[0-9]*)
}
# unchanged SENTENCE STATE : the state is as it was then.
unchanged() { same "$1" "" "$(diff <(echo "$2") <(state))"; }
# background NAME ARGUMENT… : a command, its output in NAME.out and NAME.err, its number in NAME.pid
background() {
  local name=$1
  shift
  "$patchbay" "$@" >"$name.out" 2>"$name.err" &
  echo $! >"$name.pid"
  started $!
}
# end NAME [SIGNAL] : its status.
end() {
  kill -"${2:-INT}" "$(cat "$1.pid")"
  wait "$(cat "$1.pid")"
}
instances() { "$patchbay" ls $pid instances | grep -c "^patchbay-$(cat "$1.pid")-"; }
# enabled NAME EVENT : in the instance of the recorder NAME.
enabled() {
  "$patchbay" cat $pid "instances/patchbay-$(cat "$1.pid")-1/events/$2/enable" | grep -q 1
}
is_there() { "$patchbay" cat $pid "events/$1/id" >/dev/null; }
has_hist() {
  "$patchbay" cat $pid "instances/patchbay-$(cat "$1.pid")-1/events/$2/trigger" | grep -q '^hist'
}
numbers() { "$patchbay" report -i "$1" | sed -n 's/.*work(n=\([0-9]*\).*/\1/p' | sort -n; }
# Numbers without a gap, more than ten of them.
# Every call between the first and the last that are in the recorder's own instance: even numbers
# are in no other. Another instance of the recorder may begin before it, and end after it. Says on
# stdout what is missing.
is_whole() {
  numbers "$1" | awk '{ has[$1] = 1 }
                      $1 % 2 == 0 { if (!count++) low = $1; high = $1 }
                      END { for (n = low; n < high; n++)
                              if (!(n in has)) { print n " of " low " to " high; bad = 1 }
                            if (count < 5) print count + 0 " even numbers"
                            exit bad || count < 5 }'
}

# --- again
clean=$(state)
for round in 1 2; do
  background r record -p $pid -e "$work_of" -o r.dat
  wait_for 20 enabled r functions/work || fail "record, round $round, enables"
  sleep 0.2
  end r
  same "record, round $round" 0 $?
  check "round $round has every call" is_whole r.dat
  unchanged "round $round: nothing is left" "$clean"
done
for signal in TERM HUP; do
  background r record $pid -t function -l work -g work -e "$work_of" -C mono -O func-args -b 512K \
    -P $pid -B two -e work -f 'n & 1' -o r.dat
  wait_for 20 enabled r functions/work || fail "record enables, $signal"
  end r $signal
  same "record and SIG$signal" 0 $?
  unchanged "SIG$signal: nothing is left" "$clean"
done

# --- fails half-way
while read -r line; do
  IFS='|' read -ra words <<<"$line"
  "$patchbay" "${words[@]}" >out 2>&1
  same "patchbay $line fails" 1 $?
  unchanged "patchbay $line leaves nothing" "$clean"
done <<END
record|-p|$pid|-o|r.dat|-e|work(long n)|-f|nonsense
record|-p|$pid|-o|r.dat|-e|work(long n)|-B|three|-e|work|-e|nothing
record|-p|$pid|-o|r.dat|-e|work(long n)|-p|function|-g|work|-l|nothing_of_this_name
start|$pid|-e|work(long n)|-f|nonsense
start|$pid|-e|work(long n)|-B|four|-b|512K|-p|function|-g|work|-l|nothing_of_this_name
hist|work(long n)|keys=nonsense|$pid
latency|work(long n)|nothing|$pid
sql|-e|work(long n)|-p|$pid|SELECT nonsense FROM work
END

# --- beside what others have
"$patchbay" write $pid function_events "$work_of"
"$patchbay" write $pid events/functions/work/filter 'n == 5'
other=$(state)
background r record -p $pid -e "$work_of" -f 'n & 1' -o r.dat
wait_for 20 enabled r functions/work || fail "an equal definition is shared"
sleep 0.2
end r
same "beside an equal definition" 0 $?
same "our filter is ours" "1" "$(numbers r.dat | awk '{ print $1 % 2 }' | sort -u)"
unchanged "the definition and its filter stay" "$other"
"$patchbay" start $pid -e "$work_of"
same "start shares it, too" 0 $?
"$patchbay" reset $pid
if "$patchbay" write $pid function_events 'other=work(long n)'; then
  "$patchbay" write --truncate $pid function_events 'work(x32 n)'
  other=$(state)
  background r record -p $pid -e "$work_of" -o r.dat
  wait_for 20 enabled r functions/work_2 || fail "another definition has its own name"
  sleep 0.2
  end r
  has "the name is said" "$(cat r.err)" 'this one is work_2'
  has "what it has" "$("$patchbay" report -i r.dat)" 'work(_2)?\(n=[0-9]+, name='
  unchanged "the other stays" "$other"
else
  echo "SKIPPED: function events cannot be given names"
fi
"$patchbay" write --truncate $pid function_events ''
"$patchbay" write $pid dynamic_events 'p:mine/x work a=%di'
other=$(state)
# records_as EXPECTED WHAT : `record` with each definition of the input makes this event, and leaves
# the process in the state EXPECTED.
records_as() {
  local event definition
  while read -r event definition; do
    background r record -p $pid -e "$definition" -o r.dat
    wait_for 20 enabled r "$event" || fail "$definition is $event"
    end r
    unchanged "$definition leaves $2" "$1"
  done
}
records_as "$other" "the other" <<'END'
mine/x p:mine/x work a=%di
mine/x_2 p:mine/x work b=%si
mine/x_2 p:mine/x main
END
"$patchbay" write --truncate $pid dynamic_events ''
records_as "$clean" nothing <<'END'
mine/p_work_0 p:mine/ work
mine/y p:mine.y work
kprobes/p_work_0 p work
END
# Others define theirs meanwhile.
(
  for ((i = 0; i < 60; i++)); do "$patchbay" write $pid dynamic_events "p:theirs/x$i work"; done
  touch defined
) &
while [[ ! -e defined ]]; do
  background r record -p $pid -e 'p:mine/x work a=%di' -o r.dat
  wait_for 20 enabled r mine/x || fail "a probe while others define theirs"
  end r
done
same "what others define meanwhile stays" 60 \
  "$("$patchbay" cat $pid dynamic_events | grep -c ':theirs/x')"
"$patchbay" write --truncate $pid dynamic_events ''
unchanged "the process is clean" "$clean"

# --- at once
for name in a b c; do
  background $name record -p $pid -e "$work_of" -o $name.dat -B red -e work -f 'n & 1'
done
for name in a b c; do wait_for 20 enabled $name functions/work || fail "recorder $name"; done
sleep 0.2
end a
sleep 0.2
check "b goes on without a" enabled b functions/work
end b TERM
kill -9 "$(cat c.pid)"
wait "$(cat c.pid)" 2>/dev/null
check "a has every call" is_whole a.dat
check "b has every call" is_whole b.dat
for name in a b; do
  same "$name: its instance red has every other one, too" "1" \
    "$(numbers $name.dat | uniq -d | awk '{ print $1 % 2 }' | sort -u)"
done
check "what was killed has left something" instances c
"$patchbay" hist "$work_of" keys=nonsense $pid 2>/dev/null
unchanged "the next command takes it away" "$clean"

while read -r file event definition; do
  background c record -p $pid -e "$definition" -o c.dat
  wait_for 20 enabled c "$event" || fail "the recorder of $definition"
  end c KILL 2>/dev/null
  "$patchbay" write --truncate $pid "instances/patchbay-$(cat c.pid)-1/set_event" ''
  "$patchbay" write --truncate $pid "$file" ''
  "$patchbay" write $pid "$file" "$definition"
  "$patchbay" hist "$work_of" keys=nonsense $pid 2>/dev/null
  check "what was defined anew after a killed command stays: $definition" is_there "$event"
  "$patchbay" write --truncate $pid "$file" ''
  unchanged "and nothing else does" "$clean"
done <<'END'
function_events functions/work work(long n)
dynamic_events mine/x p:mine/x work a=%di
END

for name in a b; do
  background h$name hist "$work_of" keys=common_pid -p $pid
  background l$name latency work -p $pid
  background s$name sql -e "$work_of" \
    'SELECT e.n, TIMESTAMP_DELTA AS d FROM work s JOIN work e ON s.n = e.n' $pid
done
for name in a b; do
  wait_for 20 has_hist h$name functions/work || fail "hist $name"
  wait_for 20 has_hist l$name functions/call_work || fail "latency $name"
  wait_for 20 instances s$name || fail "sql $name"
done
sleep 0.3
for name in ha la sa hb lb sb; do
  end $name
  same "$name, of six at once" 0 $?
  same "$name says nothing" "" "$(cat $name.err)"
done
has "hist" "$(cat hb.out)" "common_pid: +$pid \} hitcount: +[0-9]{2,}"
has "latency" "$(cat lb.out)" '^[0-9]{2,} times, '
unchanged "all six have left nothing" "$clean"

background ta top -p $pid -l work -d 0.1
wait_for 20 grep -q work ta.out || fail "top"
background tb top $pid -d 0.1
wait_for 20 grep -q work tb.out || fail "a second top"
end ta
: >tb.out
check "the second goes on" wait_for 20 grep -qw work tb.out
same "with the profiler" 1 "$("$patchbay" cat $pid function_profile_enabled)"
end tb
unchanged "both tops have left nothing" "$clean"

# --- in an instance of the user's
"$patchbay" start $pid -e "$work_of" -B mine -C mono
"$patchbay" write $pid instances/mine/tracing_on 0
mine=$(state; "$patchbay" cat $pid instances/mine/tracing_on)
same_mine() {
  same "$1" "" "$(diff <(echo "$mine") <(state; "$patchbay" cat $pid instances/mine/tracing_on))"
}
background p record -p $pid -B mine -t function -l work -o p.dat
is_traced() { "$patchbay" cat $pid instances/mine/current_tracer | grep -qx function; }
wait_for 20 is_traced || fail "a tracer in the user's instance"
end p
same "in the user's instance" 0 $?
has "why nothing is recorded" "$(cat p.err)" "tracing_on of the instance 'mine' is 0"
same_mine "its tracing_on stays off"
"$patchbay" write $pid instances/mine/tracing_on 1
mine=$(state; "$patchbay" cat $pid instances/mine/tracing_on)
is_on() { "$patchbay" cat $pid instances/mine/events/functions/work/enable | grep -q 1; }
notes_event() { grep -q functions/work/enable "$PATCHBAY_DIR/$pid/uses.$(cat "$1.pid").0"; }
for name in a b; do
  background $name record -p $pid -B mine -e work -o $name.dat
  wait_for 20 is_on || fail "recorder $name in the user's instance"
  wait_for 20 notes_event $name || fail "recorder $name notes its event"
done
sleep 0.2
end a
check "b's event stays on without a" is_on
end b
same_mine "the user's instance is as it was"
"$patchbay" reset $pid

# --- the process dies
background r record -p $pid -e "$work_of" -o r.dat
wait_for 20 enabled r functions/work
sleep 0.2
kill -9 $pid
wait "$(cat r.pid)"
same "the process is killed" 0 $?
check "its calls are there" is_whole r.dat
finish
