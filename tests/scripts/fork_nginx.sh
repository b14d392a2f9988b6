#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx's workers, forked before anybody asked for anything, follow what the master is told:
# requests are counted exactly, by events, filters, histograms and a tracer. They go on alone when
# the master is killed.
#   fork_nginx.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need nginx python3

# As root the workers become another user, as in real life.
nginx_site "$work" off 4
LD_PRELOAD=$agent nginx -p "$work" -c "$work/nginx.conf" >"$work/out" 2>&1 &
pid=$!
started $pid
wait_for 20 test -S "$work/sock" || fail "nginx: $(cat "$work/out")"
wait_for 20 "$patchbay" ls $pid || fail "the agent does not answer"

rd() { "$patchbay" cat $pid "$1"; }
put() { check "$2 >>$1" "$patchbay" write $pid "$1" "$2"; }
new() { check "$2 >$1" "$patchbay" write --truncate $pid "$1" "$2"; }
ask() { same "answers" "$1" "$(nginx_right_answers "$work/sock" "$1")"; }
lines() { rd trace | grep -v '^#' | grep -cE -- "$1"; }
all_follow() { rd debug/counters | grep -qx "forked children that follow: 4"; }
wait_for 20 all_follow || fail "not all workers follow: $(rd debug/counters)"

put function_events 'ngx_http_handler(x64 r)'
put events/functions/ngx_http_handler/enable 1
ask 50
same "each request once" 50 "$(lines 'ngx_http_handler\(r=')"
put events/functions/ngx_http_handler/enable 0
new trace ''
ask 20
same "none when it is off" 0 "$(lines .)"
put function_events '!ngx_http_handler'
put function_events 'ngx_http_finalize_request(x64 r, int rc)'
put events/functions/ngx_http_finalize_request/filter 'rc == 0'
put events/functions/ngx_http_finalize_request/trigger 'hist:keys=rc'
put events/functions/ngx_http_finalize_request/enable 1
ask 40
hist=$(rd events/functions/ngx_http_finalize_request/hist)
ends=$(lines 'ngx_http_finalize_request\(')
hits=$(sed -n 's/^ *Hits: //p' <<<"$hist")
check "every end of a request in the histogram" test "${hits:-0}" -ge 40
check "the filter's share of them: $ends of $hits" test "$ends" -ge 40 -a "$ends" -le "$hits"
same "no other" 0 "$(rd trace | grep -v '^#' | grep -vc 'rc=0)')"
put events/functions/ngx_http_finalize_request/enable 0
put events/functions/ngx_http_finalize_request/trigger '!hist:keys=rc'
new trace ''
new set_ftrace_filter ngx_http_handler
put current_tracer function
ask 30
same "a tracer" 30 "$(lines ': ngx_http_handler <-')"
same "no child has stopped" 0 "$(rd debug/counters | sed -n 's/.*stopped recording: //p')"

# --- a size, which workers that are another user's cannot follow: they say so, and what is theirs
# is counted as lost
put buffer_size_kb 64
new trace ''
ask 30
lost=$(cat <(rd per_cpu/cpu0/stats) <(rd per_cpu/cpu1/stats) 2>/dev/null |
  awk '/^dropped events/ { n += $3 } END { print n }')
stopped=$(rd debug/counters | sed -n 's/.*stopped recording: //p')
case $stopped in
  0) same "in the new buffer" 30 "$(lines ': ngx_http_handler <-')" ;;
  4)
    same "nothing comes from them any more" 0 "$(lines ': ngx_http_handler <-')"
    [[ $(nproc) != 2 ]] || same "it is counted" 30 "$lost"
    same "each has said so once" 4 \
      "$(cat "$work/out" "$work/logs/error.log" | grep -c 'cannot follow')"
    ;;
  *) fail "$stopped of 4 workers have stopped recording" ;;
esac

# --- the master is killed: the workers go on
kill -KILL $pid
wait $pid 2>/dev/null
ask 10
# They are nobody's children now.
for worker in $(pgrep -f '^nginx: worker process'); do
  grep -qF "$work" "/proc/$worker/maps" && kill -QUIT "$worker"
done
finish
