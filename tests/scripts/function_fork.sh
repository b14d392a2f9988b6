#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A forked child keeps what was traced when it was born, while its parent's commands, filters and
# tracers change and their memory is used again: its calls run well, and act by nothing that is
# gone.
#   function_fork.sh BUILD_DIR
. "$(dirname "$0")/common.bash"

start_driven PATCHBAY_TRACE_INSTANCE=own on_command

call() { echo "$*" >&3 && read -r -t 60 -u 4 answer || fail "the program does not answer to $*"; }
rd() { "$patchbay" cat $pid "$1"; }
put() { check "$2 >$1" "$patchbay" write $pid "$1" "$2"; }

put set_ftrace_filter 'alpha beta'
put current_tracer function

# --- its command is there as long as the parent's is
put set_ftrace_filter 'beta:traceoff:5'
call linger
call wake beta
same "the child's end" "done 0" "$answer"
same "its hit counts for all" "0 beta:traceoff:count=4" \
  "$(rd tracing_on) $(rd set_ftrace_filter | grep traceoff)"
put tracing_on 1

# --- and then it is gone for the child too, however the parent goes on
call linger
put set_ftrace_filter '!beta:traceoff:0'
call wake beta
same "the child's end" "done 0" "$answer"
same "a command that is gone" 1 "$(rd tracing_on)"

# --- others on the same function; the tables of these stand where the child knows nothing
put set_ftrace_filter 'beta:traceoff:5'
call linger
for count in 1 2 3 4 5 6 7 8; do
  put set_ftrace_filter "*a*:traceon:$count"
  put set_ftrace_filter "*a*:traceoff"
  put set_ftrace_filter "!*:traceon:0"
  put set_ftrace_filter "!*:traceoff"
  put set_ftrace_filter "gamma_one:traceoff:$count"
  put set_ftrace_filter "!gamma_one:traceoff:0"
done
call wake beta
same "the child's end" "done 0" "$answer"
same "its command is what it was" "0 beta:traceoff:count=4" \
  "$(rd tracing_on) $(rd set_ftrace_filter | grep traceoff)"
put tracing_on 1
put set_ftrace_filter '!beta:traceoff:0'

# --- tracers and profiles that come and go
call linger
for tracer in function_graph nop function; do
  put function_profile_enabled 1
  put current_tracer $tracer
  put instances/own/current_tracer $tracer
  put function_profile_enabled 0
done
call wake beta
same "the child's end" "done 0" "$answer"
put instances/own/current_tracer function_graph
put current_tracer nop
call linger
put instances/own/current_tracer nop
call wake alpha
same "the child's end" "done 0" "$answer"
exec 3>&-
wait $pid
same "the program's end" 0 $?
finish
