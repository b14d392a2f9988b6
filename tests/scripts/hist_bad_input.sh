#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Histograms and synthetic events that make no sense, are too many, go in circles or go away, in a
# program whose threads hit them all the while; and any commands at all. The program goes on, and
# what can be counted is right. CHAOS_SECONDS (5) is how long, CHAOS_SEED (the time) what is
# written.
#   hist_bad_input.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount
need python3
seconds=${CHAOS_SECONDS:-5}
# Some seeds leave histograms that use each other's variables in a circle, which cannot be removed.
seed=${CHAOS_SEED:-1}
echo "CHAOS_SEED=$seed CHAOS_SECONDS=$seconds"
mkfifo "$work/in" "$work/out"
exec 3<>"$work/in" 4<>"$work/out"
PATCHBAY_FUNCTION_EVENTS='called(int n)' \
  start_in_place "$work/in" "$work/out" "$programs/hits" || finish
cd "$mounted" || exit 1
hit() { echo "$*" >&3 && read -r -t 120 -u 4 _ || fail "the program does not answer to $*"; }
put() { echo "$2" >>"$1"; }
works() { check "$1 takes: $2" put "$1" "$2" 2>/dev/null; }
refuses() { same "$1 refuses: $2" "$3" "$( (echo "$2" >>"$1") 2>&1 | sed 's/.*: //')"; }
total() { sed -n "s/^    $2: //p" "$1/hist" | xargs; }
stat=events/app/hit other=events/app/other

# --- in circles: one fires the next, which fires the first
works synthetic_events 'aa int xx'
works synthetic_events 'bb int xx'
works events/synthetic/aa/trigger 'hist:keys=xx:va=xx:onmatch(synthetic.aa).bb($va)'
works events/synthetic/bb/trigger 'hist:keys=xx:vb=xx:onmatch(synthetic.bb).aa($vb)'
works $stat/trigger 'hist:keys=n:vn=n:onmatch(app.hit).aa($vn)'
cut_before=$(sed -n 's/.*recursion[^0-9]*\([0-9]*\).*/\1/p' debug/counters | head -n 1)
hit stat 1 1000 4
same "hits of the program" 4000 "$(total $stat Hits)"
same "a circle is cut after eight events: four each" "16000 16000" \
  "$(total events/synthetic/aa Hits) $(total events/synthetic/bb Hits)"
same "and it is counted" 4000 $((
  $(sed -n 's/.*recursion[^0-9]*\([0-9]*\).*/\1/p' debug/counters | head -n 1) - cut_before))
refuses synthetic_events '!aa' 'Device or resource busy'
refuses synthetic_events '!bb' 'Device or resource busy'
works $stat/trigger '!hist:keys=n:vn=n:onmatch(app.hit).aa($vn)'
works events/synthetic/bb/trigger '!hist:keys=xx:vb=xx:onmatch(synthetic.bb).aa($vb)'
works events/synthetic/aa/trigger '!hist:keys=xx:va=xx:onmatch(synthetic.aa).bb($va)'
works synthetic_events '!aa'
works synthetic_events '!bb'

# --- what is referred to stays
works synthetic_events 'sy u64 aa'
works $other/trigger 'hist:keys=n:ts=common_timestamp,never=n if n == 12345678'
works $stat/trigger 'hist:keys=n:lat=common_timestamp-$ts:onmatch(app.other).sy($lat)'
works events/synthetic/sy/trigger 'hist:keys=aa'
refuses $other/trigger '!hist:keys=n:ts=common_timestamp,never=n if n == 12345678' \
  'Device or resource busy'
refuses synthetic_events '!sy' 'Device or resource busy'

# --- variables that were never set: nothing is fired
hit other 1 100
hit stat 1 100
same "no pair" 0 "$(total events/synthetic/sy Hits)"
hit other 12345678 1
hit stat 12345678 2
same "one pair" 1 "$(total events/synthetic/sy Hits)"
works $stat/trigger '!hist:keys=n:lat=common_timestamp-$ts:onmatch(app.other).sy($lat)'
works $other/trigger '!hist:keys=n:ts=common_timestamp,never=n if n == 12345678'
: >events/synthetic/sy/trigger

# --- divided by nothing
works $stat/trigger 'hist:keys=n:q=100/n:onmatch(app.hit).sy($q)'
works events/synthetic/sy/trigger 'hist:keys=aa:sort=aa'
hit stat 0 3
same "all ones" "{ aa:         50 } hitcount:          1
{ aa:        100 } hitcount:          1
{ aa: 18446744073709551615 } hitcount:          1" "$(grep '^{' events/synthetic/sy/hist)"
: >events/synthetic/sy/trigger
works $stat/trigger '!hist:keys=n:q=100/n:onmatch(app.hit).sy($q)'
refuses $stat/trigger 'hist:keys=n:q=n/0' 'Numerical argument out of domain'

# --- more keys than entries
works $stat/trigger 'hist:keys=n,word:vals=n:size=128'
hit stat 1 100000 2
same "the first fill the table, the others are counted" "128 100" \
  "$(total $stat Entries) $(($(total $stat Hits) + $(total $stat Dropped) - 199900))"
: >$stat/trigger

# --- a thousand histograms of one event
for ((i = 1; i <= 1000; i++)); do
  put $stat/trigger "hist:keys=n:size=128 if n > $i" || break
done
same "a thousand are there" 1000 "$(grep -c '^hist:' $stat/trigger)"
hit stat 991 10
hit stat 1 1
same "each has its own hits" "$(for ((i = 1; i <= 1000; i++)); do
  echo $((i < 991 ? 10 : 1000 - i))
done | xargs)" "$(total $stat Hits)"
: >$stat/trigger
same "and all go" "" "$(grep -v '^#' $stat/trigger)"
hit stat 1 10

# --- an instance goes while its histograms are hit
for ((i = 0; i < 20; i++)); do
  echo "stat 1 20000 2" >&3
  mkdir instances/gone
  put instances/gone/$stat/trigger 'hist:keys=n:vals=n'
  put instances/gone/$stat/trigger 'hist:keys=word:sort=word if n > 100'
  put instances/gone/$stat/trigger 'traceoff:1 if n == 5'
  ((i % 2)) && put instances/gone/$stat/trigger 'hist:keys=n:size=256:v=n'
  ((i % 2)) && same "one with variables holds it, as in the kernel" 'Device or resource busy' \
    "$(rmdir instances/gone 2>&1 | sed 's/.*: //')"
  : >instances/gone/$stat/trigger
  ((i % 2)) || put instances/gone/$stat/trigger 'hist:keys=n:vals=n'
  check "without them it goes" rmdir instances/gone
  read -r -t 60 -u 4 _ || fail "the program does not answer"
done

# --- anything at all, while three threads hit everything
works synthetic_events '!sy'
while [[ ! -e $work/enough ]]; do
  hit stat 1 3000 2
  hit call 1 1000
  hit other 1 1000
done &
hitter=$!
read -r taken refused < <(cd / && python3 "$here/hist_chaos.py" "$mounted" "$seconds" "$seed")
touch "$work/enough"
wait $hitter
echo "$taken taken, $refused refused"
check "much was taken, much was refused" test "$((taken > 20 && refused > 20))" = 1
same "everything could be removed" "" "$(cat show_event_triggers synthetic_events)"
works tracing_on 1
: >$stat/trigger
works $stat/trigger 'hist:keys=word:sort=word'
hit stat 1 1000 2
same "and it counts as ever" \
  "$(printf '{ word: %-50s } hitcount:       1000\n' even odd)" \
  "$(grep '^{' $stat/hist)"
: >$stat/trigger
same "the program says nothing" "" "$(cat "$work/standin.err")"
cd /
stop_standin
finish
