#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several shells at once change what is traced in a program whose threads call, throw, jump, fork,
# spawn and take signals without a pause: filters, tracers, the profiler, commands, thread lists,
# function events, probes on the same functions, instances. Each change is a right one or a mistake.
# The program must come to the same results and the same end, and afterwards nothing may stay
# patched. CHAOS_SECONDS (6) is how long, CHAOS_SEED (the time) what they do.
#   function_chaos.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount
seconds=${CHAOS_SECONDS:-6}
seed=${CHAOS_SEED:-$(date +%s)}
echo "CHAOS_SEED=$seed CHAOS_SECONDS=$seconds"
program=$programs/chaos_calls
plain=$("$program" </dev/null 2>&1)
plain_status=$?

mkfifo "$work/in"
LD_PRELOAD=$agent "$program" <"$work/in" >"$work/out" 2>&1 3>&- &
standin=$!
started $standin
exec 3>"$work/in"
wait_for 20 test -S "$PATCHBAY_DIR/$standin/ctl.sock"
mkdir -p "$mounted"
"$patchbay" mount --foreground -p $standin "$mounted" >"$work/mount.out" 2>&1 3>&- &
mounter=$!
started $mounter
wait_for 10 is_mounted || { fail "patchbay mount: $(head -n 3 "$work/mount.out")"; finish; }
mapfile -t functions < <(grep -o '^chaos_[a-z_]*' "$mounted/available_filter_functions")
check "its functions can be traced" test ${#functions[@]} -ge 25

# --- the shells. Each has a generator of its own; what it does is in its log.
pick() { echo "${@:RANDOM % $# + 1:1}"; }
function_or_glob() {
  case $((RANDOM % 6)) in
    0) pick 'chaos_*' '*' 'chaos_[l-t]*' '*a*e*' ':mod:libc*' 'nothing_*' ;;
    *) pick "${functions[@]}" ;;
  esac
}
# put FILE TEXT [>] : what is refused is a mistake or a race with another shell.
put() {
  local refused=0
  if [[ ${3-} == '>' ]]; then
    echo "$2" 2>/dev/null >"$1" || refused=1
  else
    echo "$2" 2>/dev/null >>"$1" || refused=1
  fi
  echo "$refused $1 $2" >>"$log"
}
chaos_tracer() {
  put "$tree/current_tracer" "$(pick nop function function_graph function_graph nonsense)"
  put "$tree/max_graph_depth" $((RANDOM % 4))
}
chaos_filter() {
  local negative=''
  ((RANDOM % 4)) || negative='!'
  put "$tree/$(pick set_ftrace_filter set_ftrace_filter set_ftrace_notrace)" \
    "$negative$(function_or_glob)" "$(pick '>' '>>')"
  ((RANDOM % 5)) || put "$tree/set_ftrace_notrace" '' '>'
}
chaos_profile() {
  put "$mounted/function_profile_enabled" $((RANDOM % 2))
  put "$mounted/options/graph-time" $((RANDOM % 2))
  cat "$mounted"/trace_stat/function* >/dev/null
}
chaos_lists() {
  put "$tree/$(pick set_ftrace_pid set_ftrace_notrace_pid)" "$(pick $standin $$ x)" '>'
  put "$mounted/$(pick set_graph_function set_graph_notrace)" "$(function_or_glob)" '>'
  ((RANDOM % 2)) || put "$mounted/$(pick set_graph_function set_graph_notrace)" '' '>'
  ((RANDOM % 2)) || put "$tree/$(pick set_ftrace_pid set_ftrace_notrace_pid)" '' '>'
}
chaos_command() {
  local command negative=''
  command=$(pick traceoff:3 traceon:5 traceon stacktrace:2 snapshot:1 enable_event:ftrace:x \
    enable_event:kprobes:chaos_k disable_event:kprobes:chaos_k:4 traceoff:-:)
  ((RANDOM % 2)) || negative='!'
  put "$tree/set_ftrace_filter" "$negative$(pick "${functions[@]}"):$command"
  put "$tree/tracing_on" 1
}
chaos_event() {
  local name
  name=$(pick "${functions[@]:0:8}")
  case $((RANDOM % 4)) in
    0) put "$mounted/function_events" "$name(long a)" ;;
    1) put "$mounted/function_events" "!$name(long a)" ;;
    *) put "$tree/events/functions/enable" $((RANDOM % 2)) ;;
  esac
}
chaos_probe() {
  local name
  name=$(pick "${functions[@]}")
  case $((RANDOM % 5)) in
    0) put "$mounted/kprobe_events" "p:chaos_k $name a=\$arg1" ;;
    1) put "$mounted/kprobe_events" "r:chaos_r_$name $name ret=\$retval" ;;
    2) put "$mounted/kprobe_events" "-:$(pick chaos_k "chaos_r_$name")" ;;
    *) put "$tree/events/kprobes/enable" $((RANDOM % 2)) ;;
  esac
}
chaos_instance() {
  local name=$mounted/instances/i$((RANDOM % 3))
  if ((RANDOM % 3)); then
    mkdir "$name" 2>/dev/null
    put "$name/set_ftrace_filter" "$(function_or_glob)" '>'
    put "$name/current_tracer" "$(pick function function_graph)"
  else
    rmdir "$name" 2>/dev/null && echo "0 rmdir $name" >>"$log"
  fi
}
chaos_options() {
  put "$tree/trace_options" "$(pick '' no)$(pick func_stack_trace func-args stacktrace \
    userstacktrace funcgraph-args funcgraph-retaddr func-no-repeats sleep-time nonsense)"
  put "$tree/trace" '' '>'
}
chaos_reader() {
  head -n 2000 "$tree/trace" >/dev/null
  cat "$tree/set_ftrace_filter" "$mounted/enabled_functions" "$mounted/debug/counters" \
    "$mounted/debug/combinations" "$mounted/debug/call_sites" >/dev/null
}
# What has to be accepted at least once of what each of the above changes.
declare -A has_to_change=([tracer]=current_tracer [filter]=set_ftrace_filter
  [profile]=function_profile_enabled [lists]='set_ftrace_pid set_graph_function'
  [command]=set_ftrace_filter [event]=function_events [probe]=kprobe_events
  [options]=trace_options)
# has_changed WHAT… : this shell has had a change of each of their files accepted.
has_changed() {
  local what file
  for what in "$@"; do
    for file in ${has_to_change[$what]-}; do
      grep -q "^0 .*/$file " "$log" || return 1
    done
  done
}
# shell NUMBER WHAT… : does these until the time is over. On a busy machine that is not enough: each
# goes on until it has done thirty of them, and has changed what it has to.
shell() {
  local end=$((SECONDS + seconds)) turns=0
  RANDOM=$((seed + $1))
  log=$work/log.$1
  shift
  while kill -0 $standin 2>/dev/null; do
    if ((SECONDS >= end + 60)) || { ((SECONDS >= end && turns >= 30)) && has_changed "$@"; }; then
      break
    fi
    tree=$(pick "$mounted" "$mounted" "$mounted/instances/i0" "$mounted/instances/i1")
    chaos_"$(pick "$@")"
    turns=$((turns + 1))
  done 2>/dev/null
  echo "$turns turns" >>"$log"
}
shells=()
run() { shell "$@" 3>&- & shells+=($!); }
run 1 tracer filter
run 2 filter lists profile
run 3 command event options
run 4 probe event instance tracer
run 5 instance filter tracer reader
for shell in "${shells[@]}"; do wait "$shell"; done

# --- what they have done
all=$(cat "$work"/log.*)
done_well=$(grep -c '^0 ' <<<"$all")
echo "$(grep -c '^[0-9]* /\|^[0-9]* rmdir' <<<"$all") changes, $done_well of them accepted"
for file in $(tr ' ' '\n' <<<"${has_to_change[@]}" | sort -u); do
  check "some changes of $file were accepted" grep -q "^0 .*/$file " <<<"$all"
done
if ! kill -0 $standin 2>/dev/null; then
  wait $standin
  fail "the program has died: $?; $(cat "$work/out")"
  tail -n 4 "$work"/log.*
  standin=''
  umount "$mounted"
  finish
fi

# --- everything off
cd "$mounted" || exit
for instance in instances/*/; do [[ -d $instance ]] && rmdir "$instance"; done
same "no instance is left" "" "$(ls instances)"
check "nop" eval 'echo nop >current_tracer'
check "no profile" eval 'echo 0 >function_profile_enabled'
commands() { grep -E '^chaos_[a-z_]+:.*:(unlimited|count=)' set_ftrace_filter; }
for ((i = 0; i < 100; i++)); do
  command=$(commands | tail -n 1)
  [[ -n $command ]] || break
  command=${command/:unlimited/}
  command=${command/:count=*/:0}
  echo "!$command" >>set_ftrace_filter || { fail "remove $command"; break; }
done
same "no command is left" "" "$(commands)"
echo 0 >events/enable
echo >kprobe_events
echo >function_events
echo 1 >tracing_on
same "no probe is left" "" "$(cat kprobe_events)"
same "no function event is left" "" "$(cat function_events)"
same "no function is traced" "" "$(cat enabled_functions)"
same "nothing is patched" "" "$(cat debug/call_sites)"
cat debug/counters

# --- and it works as ever: exact calls of what cannot be lost
for file in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid \
  set_graph_function set_graph_notrace trace; do
  echo >"$file" || fail "empty $file"
done
echo 0 >max_graph_depth
echo chaos_middle >set_ftrace_filter
echo function_graph >current_tracer
sleep 0.3
has "the tracer runs" "$(cat trace)" 'chaos_middle\('
echo nop >current_tracer
same "nothing is patched" "" "$(cat debug/call_sites)"

# --- the program's end
cd "$work" || exit
exec 3>&-
wait $standin
same "exit status" "$plain_status" $?
same "output" "$plain" "$(cat "$work/out")"
standin=''
umount "$mounted" 2>/dev/null
kill $mounter 2>/dev/null
wait $mounter 2>/dev/null
finish
