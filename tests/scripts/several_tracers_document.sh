#!/bin/bash
# SPDX-License-Identifier: MIT
# The example session of "multiplexing function tracer" (Jiri Olsa, 2011), command by command as it
# stands there, in a shell inside the mount of a program that calls sys_read and sys_write; and what
# the text says besides. Names are padded to the width of the longest one; mail
# archives show every run of blanks as one. $1: the build.
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount

LD_PRELOAD=$agent "$programs/two_calls" &
standin=$!
started $standin
wait_for 10 test -S "$PATCHBAY_DIR/$standin/ctl.sock"
mkdir -p "$mounted"
"$patchbay" mount --foreground -p $standin "$mounted" >"$work/mount.out" 2>&1 &
mounter=$!
started $mounter
wait_for 10 is_mounted || { fail "patchbay mount: $(head -n 3 "$work/mount.out")"; finish; }
cd "$mounted" || exit 1

# answers COMMAND [LINE…] : the command prints these lines, as an archive shows them.
answers() {
  local command=$1
  shift
  same "# $command" "$(printf '%s\n' "$@")" "$(eval "$command" | tr -s ' ')"
}
refused() {
  check "$1 is refused" bash -c "! echo '$3' 2>/dev/null >'$2'"
}
# users : the traced functions of the program with their counts.
users() { grep -E '^sys_' enabled_functions | sed -E 's/^([^ ]+ \([0-9]+\)).*/\1/'; }

same "no tracer runs" "" "$(cat function_tracers)"

# --- the session
answers 'echo function > ./current_tracer'
answers 'cat function_tracers' '*trace'
answers 'echo 1 > ./function_profile_enabled'
answers 'cat function_tracers' 'trace' '*trace_profile'
answers 'cat set_ftrace_filter' '[ trace] #### all functions enabled ####' \
  '[ trace_profile] #### all functions enabled ####'
answers 'echo sys_read > ./set_ftrace_filter'
answers 'cat set_ftrace_filter' '[ trace] #### all functions enabled ####' \
  '[ trace_profile] sys_read'
answers 'echo trace > ./function_tracers'
answers 'cat function_tracers' '*trace' 'trace_profile'
answers 'echo sys_write > ./set_ftrace_filter'
answers 'cat set_ftrace_filter' '[ trace] sys_write' '[ trace_profile] sys_read'

# --- what each sees
same "the names have one width" $'[         trace] sys_write\n[ trace_profile] sys_read' \
  "$(cat set_ftrace_filter)"
# calls_in_trace N : the trace has so many lines.
calls_in_trace() { (($(grep -c ' <-' trace) >= $1)); }
echo >trace
check "trace gets calls" wait_for 60 calls_in_trace 10
same "trace sees sys_write alone" sys_write \
  "$(grep -oE ': [a-z_]+ <-' trace | tr -d ':<-' | sort -u | xargs)"
# hits NAME : of the profiler, on all processors.
hits() { cat trace_stat/function* | awk -v n="$1" '$1 == n { sum += $2 } END { print sum + 0 }'; }
# read_since N : sys_read was called ten times since then, and so sys_write three times.
read_since() { (($(hits sys_read) >= $1 + 10)); }
reads=$(hits sys_read) writes=$(hits sys_write)
check "trace_profile sees sys_read" wait_for 60 read_since "$reads"
same "trace_profile sees sys_write no more" "$writes" "$(hits sys_write)"
same "each has its own function" $'sys_read (1)\nsys_write (1)' "$(users)"
has "the function says who traces it" "$(cat enabled_functions)" '^sys_write \(1\).*->trace$'

# --- the other rules
refused "an unknown name" function_tracers nosuch
same "nothing has changed" $'*trace\ntrace_profile' "$(cat function_tracers)"
echo sys_read >>set_ftrace_filter
same "both at one function" $'sys_read (2)\nsys_write (1)' "$(users)"
echo sys_read >set_ftrace_notrace
same "notrace of the default tracer" \
  $'[ trace] sys_read\n[ trace_profile] #### no functions disabled ####' \
  "$(tr -s ' ' <set_ftrace_notrace)"
same "it leaves out what the filter has" $'sys_read (1)\nsys_write (1)' "$(users)"
echo >set_ftrace_notrace
echo trace_profile >function_tracers
refused "an unknown function" set_ftrace_filter nosuchfunction
has "the error has a caret" "$(tail -n 3 error_log)" '^ +\^$'
echo sys_rea >>set_ftrace_filter 2>/dev/null
has "the error says what is near" "$(tail -n 3 error_log)" "ftrace_filter: error: .*near: sys_read"
echo 0 >function_profile_enabled
same "it is gone" '*trace' "$(cat function_tracers)"
same "one tracer needs no name" $'sys_read\nsys_write' "$(sort set_ftrace_filter)"
same "its sites are too" $'sys_read (1)\nsys_write (1)' "$(users)"
echo sys_read >set_ftrace_filter
same "a site that nobody wants" "sys_read (1)" "$(users)"
same "no other function is traced" 1 "$(wc -l <enabled_functions)"
echo nop >current_tracer
same "none is left" "" "$(cat function_tracers)"
same "nothing is patched" "" "$(cat enabled_functions)"
same "the filter of trace stays" "sys_read" "$(cat set_ftrace_filter)"
has "what was traced is remembered" "$(cat touched_functions)" '^sys_write \(0\)'

# --- one filter for all, as in the kernel
echo '*' >function_tracers
echo function >current_tracer
echo 1 >function_profile_enabled
same "all are meant" $'*trace\n*trace_profile' "$(cat function_tracers)"
same "who comes takes the filter over" "sys_read (2)" "$(users)"
echo sys_write >set_ftrace_filter
same "one write is for all" "sys_write (2)" "$(users)"
same "and one answer" sys_write "$(cat set_ftrace_filter)"
echo 0 >function_profile_enabled
echo trace >function_tracers
echo nop >current_tracer
echo sys_read >set_ftrace_filter

# --- an instance has tracers of its own
mkdir instances/x
echo sys_write >instances/x/set_ftrace_filter
echo function >instances/x/current_tracer
same "an instance lists its own" '*trace' "$(cat instances/x/function_tracers)"
same "the top one lists none of it" "" "$(cat function_tracers)"
has "its name stands before the tracer's" "$(cat enabled_functions)" '^sys_write .*->x:trace$'
rmdir instances/x
same "it goes with the instance" "" "$(users)"

cd / || exit 1
stop_standin
finish
