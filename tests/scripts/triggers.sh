#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Triggers on events of every kind, in a program that hits what it is told to (docs/files.md).
#   triggers.sh BUILD_DIR
. "$(dirname "$0")/common.bash"

start_driven PATCHBAY_TRACE_INSTANCE=own PATCHBAY_FUNCTION_EVENTS='called(int n)' \
  PATCHBAY_TRACE_EVENT='' \
  PATCHBAY_TRACE_TRIGGER='hit.traceoff:1 if n == 77,app:other.stacktrace,nosuch.traceoff' hits

hit() { echo "$*" >&3 && read -r -t 60 -u 4 _ || fail "the program does not answer to $*"; }
rd() { "$patchbay" cat $pid "$1"; }
put() { "$patchbay" write $pid "$1" "$2" 2>/dev/null; }
clear_trace() { "$patchbay" write --truncate $pid trace ''; }
works() { check "$1: $2" put "events/$1/trigger" "$2"; }
refused() {
  checks=$((checks + 1))
  ! put "events/$1/trigger" "$2" || fail "accepted: $1: $2"
}
triggers() { rd "events/$1/trigger" | grep -v '^#' | tr '\n' ' '; }
count_of() { rd "events/$1/trigger" | sed -n 's/.*:count=\([-0-9]*\).*/\1/p'; }
# The values of n in the trace, in order.
values() { rd trace | sed -nE 's/^[^#].*[ (](n|arg1)=([0-9]+).*/\2/p' | tr '\n' ' '; }
records() { rd trace | grep -vc '^#'; }
shown() { rd "events/$1/enable"; }

# --- from the start: PATCHBAY_TRACE_TRIGGER
same "set at the start" "traceoff:count=1 if n == 77 " "$(triggers app/hit)"
same "the second as well" "stacktrace:unlimited " "$(triggers app/other)"
same "all of them" "app:hit traceoff:count=1 if n == 77 app:other stacktrace:unlimited" \
  "$(rd show_event_triggers | sort | tr -s '\t\n ' ' ' | sed 's/ $//')"
hit stat 77 1
same "and at work" 0 "$(rd tracing_on)"
put tracing_on 1
put events/app/hit/trigger '!traceoff'
put events/app/other/trigger '!stacktrace'
same "none is left" "" "$(rd show_event_triggers)"

# p:probes/inside is a probe, hits:user a USDT probe, called a function event, hit a static one.
check "a probe" "$patchbay" write $pid dynamic_events 'p:probes/inside called n=%di:s32'
user=$(rd available_events | grep -E '^sdt_hits:user|^hits:user' | head -n 1)
check "the USDT probe is there" test -n "$user"
declare -A hit_by=([app/hit]=stat [functions/called]=call [probes/inside]=call
  [${user/://}]=user)

for event in "${!hit_by[@]}"; do
  how=${hit_by[$event]} key='' # the field that is n
  key=$(rd "events/$event/format" | sed -nE 's/.*[ \t](n|arg1);.*/\1/p' | head -n 1)

  # --- traceoff keeps the record that it is for, and what came before
  clear_trace
  put "events/$event/enable" 1
  works "$event" "traceoff:1 if $key == 5"
  hit "$how" 1 9
  same "$event: up to the hit" "1 2 3 4 5 " "$(values)"
  same "$event: recording is off" 0 "$(rd tracing_on)"
  same "$event: one is taken" 0 "$(count_of "$event")"
  put tracing_on 1
  hit "$how" 5 3
  same "$event: only once" "1 2 3 4 5 5 6 7 " "$(values)"
  works "$event" '!traceoff'
  same "$event: none is left" "" "$(triggers "$event")"

  # --- traceon comes before it
  clear_trace
  put tracing_on 0
  works "$event" "traceon if $key == 3"
  hit "$how" 1 5
  same "$event: from the hit on" "3 4 5 " "$(values)"
  works "$event" '!traceon'

  # --- a stack behind the record
  clear_trace
  works "$event" "stacktrace:2 if $key >= 4"
  hit "$how" 1 9
  same "$event: two stacks" 2 "$(rd trace | grep -c '<stack trace')"
  has "$event: of main" "$(rd trace)" '=> main'
  has "$event: the third record is followed by the fourth, then a stack" \
    "$(rd trace | grep -A1 -E "$key=4" | tail -n 1)" '<stack trace'
  works "$event" '!stacktrace'
  put "events/$event/enable" 0

  # --- while the event is off: triggers run, nothing is recorded
  clear_trace
  works "$event" "traceoff if $key == 7"
  same "$event: held" '0*' "$(shown "$event")"
  hit "$how" 1 6
  same "$event: on" 1 "$(rd tracing_on)"
  hit "$how" 7 1
  same "$event: off" 0 "$(rd tracing_on)"
  same "$event: nothing recorded" "" "$(values)"
  put tracing_on 1
  works "$event" '!traceoff'

  # --- another event is switched
  clear_trace
  works "$event" "enable_event:app:other:1 if $key == 2"
  same "other is held" '0*' "$(shown app/other)"
  hit other 100 1
  hit "$how" 1 1
  hit other 101 1
  hit "$how" 1 3
  hit other 102 1
  same "other is on" '1*' "$(shown app/other)"
  put events/app/other/enable 0
  hit "$how" 1 3
  hit other 103 1
  same "$event: other from the hit on, once" "102 " "$(values)"
  refused "$event" 'disable_event:app:other'
  works "$event" '!disable_event:app:other'
  same "other is as it was" 0 "$(shown app/other)"
  same "$event: free" 0 "$(shown "$event")"

  # --- an event switches itself: at once with a filter
  clear_trace
  works "$event" "enable_event:${event/\//:} if $key == 3"
  hit "$how" 1 5
  same "$event: itself, with a filter" "3 4 5 " "$(values)"
  works "$event" "!enable_event:${event/\//:}"
  put "events/$event/enable" 0

  # --- the event's own filter does not stop triggers
  clear_trace
  put "events/$event/filter" "$key == 1000"
  put "events/$event/enable" 1
  works "$event" "traceoff if $key == 3"
  hit "$how" 1 5
  same "$event: in spite of its filter" "0 " "$(rd tracing_on) $(values)"
  works "$event" '!traceoff'
  put tracing_on 1
  put "events/$event/filter" 0
  put "events/$event/enable" 0
done

# --- counts, exact with 32 threads and in forked children
works app/hit 'enable_event:app:other:5'
for _ in 1 2 3 4 5 6; do
  hit stat 1 2000 32
  put events/app/other/enable 0
done
same "five times on" 0 "$(count_of app/hit)"
works app/hit '!enable_event:app:other'
put events/app/hit/enable 1
works app/hit 'stacktrace:100000'
clear_trace
hit stat 1 1000 32
same "each hit" 68000 "$(count_of app/hit)"
hit fork stat 1 500
same "a child's hits count as well" 67500 "$(count_of app/hit)"
works app/hit '!stacktrace'
put events/app/hit/enable 0
clear_trace

# --- a snapshot
put events/app/hit/enable 1
works app/hit 'snapshot:1 if n == 3'
hit stat 1 3
taken() { rd snapshot | grep -q 'n=3'; }
check "the snapshot has the hit" wait_for 10 taken
same "its count" 0 "$(count_of app/hit)"
hit stat 8 1
same "and the buffer what came later" "8 " "$(values)"
works app/hit '!snapshot'
put events/app/hit/enable 0
put snapshot 0
clear_trace
same "a snapshot is what the buffer held at the hit" ok \
  "$(timeout 100 "$programs/api_snapshot_hits" 2>&1)"

# --- markers
works ftrace/print 'traceoff:1 if buf ~ "end*"'
put trace_marker begin
put trace_marker end
same "a marker stops it" 0 "$(rd tracing_on)"
has "and is kept" "$(rd trace)" 'tracing_mark_write: end'
put tracing_on 1
works ftrace/print '!traceoff'
works ftrace/print 'enable_event:app:other if buf ~ "watch*"'
put trace_marker 'watch it'
same "a marker switches an event" '1*' "$(shown app/other)"
works ftrace/print '!enable_event:app:other'
put events/app/other/enable 0

# --- instances have their own
clear_trace
check "in an instance" put instances/own/events/app/hit/trigger 'traceoff if n == 2'
put instances/own/events/app/hit/enable 1
put events/app/hit/enable 1
hit stat 1 3
same "off there, on here" "0 1" "$(rd instances/own/tracing_on) $(rd tracing_on)"
same "here is all" "1 2 3 " "$(values)"
same "none here" "" "$(triggers app/hit)"
put events/app/hit/enable 0

# --- what goes with what
works probes/inside 'traceoff'
checks=$((checks + 1))
! put dynamic_events '-:probes/inside' || fail "a probe with a trigger was removed"
works probes/inside '!traceoff'
check "without one it goes" put dynamic_events '-:probes/inside'
exec 3>&-
wait $pid
same "the program ends well" 0 $?
same "and says what it was told wrongly" \
  "patchbay: PATCHBAY_TRACE_TRIGGER: nosuch.traceoff: there is no such event" "$(cat "$work/err")"
finish
