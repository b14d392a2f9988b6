#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shell session of the kernel's events.rst (set_event, enable, filter, set_event_pid, trigger)
# in DIR/all of patchbay mount --all: on two nginx with four workers each, and a program that has
# none of their functions. Requests are counted exactly.
. "$(dirname "$0")/common.bash"
need fusermount3 nginx python3
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"

mnt=$work/mnt all=$work/mnt/all
mkdir "$mnt"
unmount() { fusermount3 -u "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" 2>/dev/null; }
# The masters end their workers.
masters=()
end_servers() {
  local master
  for master in "${masters[@]}"; do kill -TERM "$master" 2>/dev/null; done
  wait "${masters[@]}" 2>/dev/null
}
trap 'unmount; end_servers; cleanup' EXIT

check "mount" "$patchbay" mount --all "$mnt"
for server in one two; do
  nginx_site "$work/$server" off 4
  LD_PRELOAD=$agent nginx -p "$work/$server" -c "$work/$server/nginx.conf" \
    >"$work/$server/out" 2>&1 &
  masters+=($!)
  wait_for 60 test -S "$work/$server/sock" || fail "nginx: $(cat "$work/$server/out")"
  wait_for 60 test -e "$mnt/$!/trace" || fail "nginx is not seen"
done
LD_PRELOAD=$agent "$programs/steady" 5000 >/dev/null 2>&1 &
started $!
steady=$!
disown $steady
wait_for 60 test -e "$mnt/$steady/trace" || fail "steady is not seen"
all_follow() {
  [[ $(grep -c '^forked children that follow: 4$' <(cat "$mnt/${masters[0]}/debug/counters" \
    "$mnt/${masters[1]}/debug/counters")) == 2 ]]
}
wait_for 60 all_follow || fail "not all workers follow"
same "workers are in the directory of their master" \
  "$(printf '%s\n' "${masters[@]}" "$steady" all | sort)" "$(ls "$mnt" | sort)"

# ask ONE TWO : so many requests to each.
ask() {
  same "answers" "$1" "$(nginx_right_answers "$work/one/sock" "$1")"
  same "answers" "$2" "$(nginx_right_answers "$work/two/sock" "$2")"
}
lines() { grep -v '^#' "$all/trace" | grep -cE -- "$1"; }
cd "$all" || exit 1

check "definitions" eval "echo 'ngx_http_handler(x64 r)' >> function_events"
check "one more" eval "echo 'ngx_http_finalize_request(x64 r, int rc)' >> function_events"

# --- "Via the 'set_event' interface"
check "an event by name" eval "echo ngx_http_handler >> set_event"
same "it is on in both" "functions:ngx_http_handler" "$(cat set_event)"
ask 20 30
same "each request once" 50 "$(lines 'ngx_http_handler\(r=')"
has "the lines name the workers" "$(cat trace)" '^ *nginx-[0-9]+ .*ngx_http_handler\(r='
check "off, by !" eval "echo '!ngx_http_handler' >> set_event"
: >trace
ask 5 5
same "none when it is off" 0 "$(lines ngx_http)"
check "all of a subsystem" eval "echo 'functions:*' > set_event"
same "two events" 2 "$(wc -l <set_event)"
check "all off, by an empty line" eval "echo > set_event"
same "none" "" "$(cat set_event)"

# --- "Via the 'enable' toggle"
check "one on" eval "echo 1 > events/functions/ngx_http_handler/enable"
same "the subsystem is mixed" X "$(cat events/functions/enable)"
check "the subsystem on" eval "echo 1 > events/functions/enable"
same "all of it" 1 "$(cat events/functions/enable)"
check "off" eval "echo 0 > events/functions/enable"

# --- "Event filtering"
cd events/functions/ngx_http_finalize_request || exit 1
check "a filter" eval "echo 'rc == 0 && comm == nginx' > filter"
same "is shown" 'rc == 0 && comm == nginx' "$(cat filter)"
out=$(bash -c "echo 'rc == 0 && bogus == 1' > filter" 2>&1)
has "a wrong one is refused" "$out" 'write error: Invalid argument'
has "with its reason" "$(cat filter)" 'parse_error: Field not found'
has "and who refuses it" "$(cat "$all/error_log")" "^  ${masters[1]} nginx: "
check "0 removes it" eval "echo 0 > filter"
same "none" none "$(cat filter)"
check "of a subsystem" eval "echo 'rc != 12345' > ../filter"
same "where it fits" 'rc != 12345' "$(cat filter)"
check "it goes" eval "echo 0 > ../filter"

# --- "PID filtering"
cd "$all" || exit 1
check "threads" eval "echo ${masters[0]} > set_event_pid"
echo 1 >events/functions/ngx_http_handler/enable
: >trace
ask 5 5
same "no worker is the master" 0 "$(lines ngx_http)"
check "all again" eval "echo > set_event_pid"
ask 7 5
same "all" 12 "$(lines ngx_http_handler)"
echo 0 >events/functions/ngx_http_handler/enable

# --- "Event triggers"
check "a trigger" \
  eval "echo 'hist:keys=rc' > events/functions/ngx_http_finalize_request/trigger"
check "another" eval "echo 'traceoff:1' >> events/functions/ngx_http_handler/trigger"
ask 4 6
same "it has counted in both" 2 \
  "$(grep -c '^ *Hits: [1-9]' events/functions/ngx_http_finalize_request/hist)"
same "it has stopped both, and not the third" X "$(cat tracing_on)"
same "which says so" 1 "$(cat "$mnt/$steady/tracing_on")"
check "off" eval "echo '!traceoff:1' >> events/functions/ngx_http_handler/trigger"
check "on again" eval "echo 1 > tracing_on"
same "is on in all" 1 "$(cat tracing_on)"

# --- a tracer, read as it comes
(echo ngx_http_handler >set_ftrace_filter) 2>/dev/null
same "who has no such function would trace all: that is refused" 1 $?
has "with its number" "$(cat error_log)" "^  $steady steady: No function matches"
kill -KILL $steady
wait_for 60 test ! -e "$mnt/$steady"
check "functions" eval "echo ngx_http_handler > set_ftrace_filter"
: >trace
check "the tracer" eval "echo function > current_tracer"
cat trace_pipe >"$work/pipe" &
reader=$!
started $reader
ask 40 60
piped() { [[ $(grep -c ' ngx_http_handler <-' "$work/pipe") == 100 ]]; }
check "every request is in trace_pipe" wait_for 60 piped
(echo nop >current_tracer) 2>/dev/null
same "the tracer cannot change while somebody reads it" 1 $?
kill $reader
wait $reader 2>/dev/null
check "nop" eval "echo nop > current_tracer"

# --- the third nginx comes when all is set up
check "its event" eval "echo 1 > events/functions/ngx_http_handler/enable"
nginx_site "$work/three" off 4
LD_PRELOAD=$agent nginx -p "$work/three" -c "$work/three/nginx.conf" >"$work/three/out" 2>&1 &
masters+=($!)
is_set_up() { [[ $(cat "$mnt/${masters[2]}/events/functions/ngx_http_handler/enable") == 1 ]]; }
wait_for 60 test -S "$work/three/sock" || fail "nginx: $(cat "$work/three/out")"
check "it has the event" wait_for 60 is_set_up
: >trace
same "answers" 9 "$(nginx_right_answers "$work/three/sock" 9)"
same "and counts with the others" 9 "$(lines ngx_http_handler)"
cd /
check "unmount" unmount
finish
