#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# PATCHBAY_CONFIG: what stands in a file is written to the program's tree before its main(), as
# echo would; mistakes are said once, with their line, and in error_log; the environment goes before
# the file; what is not there yet waits.
#
#   config.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$programs/two_calls
[[ -x $program ]] || skip "no $program"
conf=$work/app.conf

# start [VARIABLE=VALUE…] : two_calls with the file; its id is $pid, what it says is in $work/err.
start() {
  env "$@" PATCHBAY_CONFIG="$conf" LD_PRELOAD="$agent" "$program" 2>"$work/err" &
  pid=$!
  started $pid
  check "the agent answers" wait_for 20 test -S "$PATCHBAY_DIR/$pid/ctl.sock"
}
stop() {
  kill $pid
  wait $pid 2>/dev/null
}
of() { "$patchbay" cat $pid "$1"; }

# --- every style of file, an instance, continued lines, comments
cat >"$conf" <<'CONF'
# What is recorded from the first moment on.
trace_clock = mono
  trace_options=nooverwrite
buffer_size_kb = 512
synthetic_events += rest u64 left; char[8] who
synthetic_events += more u32 n
dynamic_events += p:two/entered sys_read \
    number=$arg1:u64
function_events = sys_write(long a)
events/two/entered/filter = number >= 2
events/two/entered/trigger = hist:keys=common_pid
set_event = two functions:sys_write
set_event += !two
events/two/entered/enable = 1

[instance net]
trace_marker = begun
buffer_size_kb = 64
events/functions/sys_write/enable = 1
set_event_pid = 1
[instance other]
[ top ]
set_ftrace_filter = sys_read
set_ftrace_filter += sys_write
current_tracer = function
CONF
start
same "no mistake" "" "$(cat "$work/err")"
has "trace_clock" "$(of trace_clock)" '\[mono\]'
has "trace_options" "$(of trace_options)" '^nooverwrite$'
has "buffer_size_kb" "$(of buffer_size_kb)" '^51[2-9]$'
has "a line of a file" "$(of synthetic_events)" '^rest[[:space:]]u64 left; char\[8\] who'
has "both" "$(of synthetic_events)" '^more[[:space:]]u32 n'
# shellcheck disable=SC2016  # what the program's tree shows
has "a continued line" "$(of dynamic_events)" '^p:two/entered sys_read number=\$arg1:u64$'
same "a filter" "number >= 2" "$(of events/two/entered/filter)"
has "a trigger" "$(of events/two/entered/trigger)" '^hist:keys=common_pid'
same "set_event" $'functions:sys_write\ntwo:entered' "$(of set_event | sort)"
has "the records" "$(of trace)" 'entered: .*number=[0-9]+$'
has "trace_marker" "$(of instances/net/trace)" 'begun$'
same "set_ftrace_filter" $'sys_read\nsys_write' "$(of set_ftrace_filter | sort)"
same "current_tracer" function "$(of current_tracer)"
has "its records" "$(of trace)" 'sys_write <-main'
same "the instances" $'net\nother' "$("$patchbay" ls $pid instances | tr -d / | sort)"
has "a file of an instance" "$(of instances/net/buffer_size_kb)" '^6[4-9]$'
same "set_event of an instance" functions:sys_write "$(of instances/net/set_event)"
same "set_event_pid of an instance" 1 "$(of instances/net/set_event_pid)"
same "no mistake in error_log" "" "$(of error_log)"
stop

# --- mistakes: each once, with its line; the rest holds
cat >"$conf" <<'CONF'
nothing is meant
trace_clock = sundial
dynamic_events += p:two/entered sys_read \
  number=$arh1
events/functions/sys_write/filter = nosuch == 1
[instance a/b]
buffer_size_kb = 64
[top]
no_such_file = 1
PATCHBAY_NO_SUCH = 1
PATCHBAY_TRACE_CLOCK = moondial
PATCHBAY_FUNCTION_EVENTS = sys_write(long a)
CONF
start
says() { grep -cE -- "$1" "$work/err"; }
same "a line that is none" 1 "$(says "^patchbay: $conf:1: nothing is meant: A line is FILE = TEXT")"
same "a value that is refused" 1 "$(says "^patchbay: $conf:2: trace_clock = sundial: ")"
same "a probe" 1 "$(says "^patchbay: $conf:3: ")"
same "a waiting line" 1 "$(says "^patchbay: $conf:5: ")"
same "a section" 1 "$(says "^patchbay: $conf:6: .*The name of an instance is one word without /")"
same "a file that is not there" 1 "$(says "^patchbay: $conf:9: no_such_file = 1: There is no file")"
same "no such variable" 1 "$(says "^patchbay: $conf:10: PATCHBAY_NO_SUCH: There is no such var")"
same "a variable's value" 1 "$(says "^patchbay: $conf:11: PATCHBAY_TRACE_CLOCK: moondial: ")"
log=$(of error_log)
has "the place of a mistake" "$log" "\] $conf:3: trace_kprobe: error: "
# shellcheck disable=SC2016
has "its command" "$log" '^  Command: p:two/entered sys_read number=\$arh1$'
has "its caret" "$(grep -A2 'trace_kprobe' <<<"$log" | tail -n 1)" '^ {41}\^$'
has "a filter's mistake" "$log" "\] $conf:5: event filter parse error: error: Field not found"
has "a variable's mistake" "$log" "\] $conf:11: PATCHBAY_TRACE_CLOCK: error: "
has "the rest holds" "$(of set_event)" '^functions:sys_write$'
same "nothing of the lost section" "" "$("$patchbay" ls $pid instances)"
stop

# --- the environment goes before the file; text of a variable; both errors have their place
cat >"$conf" <<'CONF'
trace_clock = mono
PATCHBAY_TRACE_CLOCK = global
PATCHBAY_TRACE_OPTIONS = nooverwrite
PATCHBAY_TRACE_OPTIONS += sym-offset
PATCHBAY_BUFFER_SIZE_KB = 256
PATCHBAY_FTRACE = function
PATCHBAY_FTRACE_FILTER = sys_read,sys_write
CONF
start PATCHBAY_TRACE_CLOCK=boot PATCHBAY_CONFIG_TEXT=$'[instance n]\ntrace_marker = text\nwhat'
has "a variable of both" "$(of trace_clock)" '\[boot\]'
has "= of a variable" "$(of trace_options)" '^nooverwrite$'
has "+= of a variable" "$(of trace_options)" '^sym-offset$'
has "the size of the buffer" "$(of buffer_size_kb)" '^25[6-9]$'
same "PATCHBAY_FTRACE" function "$(of current_tracer)"
same "PATCHBAY_FTRACE_FILTER" $'sys_read\nsys_write' "$(of set_ftrace_filter | sort)"
has "PATCHBAY_CONFIG_TEXT" "$(of instances/n/trace)" 'text$'
same "its mistakes" \
  "patchbay: PATCHBAY_CONFIG_TEXT:3: what: A line is FILE = TEXT or FILE += TEXT." \
  "$(cat "$work/err")"
stop

# --- a filter that fits nothing is no filter at all: the tracer, which would trace everything, is
# not started; one function that fits is enough
filter_of() {
  start PATCHBAY_FTRACE="$1" "$2=$3"
  same "$2=$3: the tracer" "$4" "$(of current_tracer)"
  has "$2=$3: the function is named" "$(cat "$work/err")" "^patchbay: $2: nosuch_function: "
}
: >"$conf"
filter_of function PATCHBAY_FTRACE_FILTER nosuch_function nop
has "why it is not started" "$(cat "$work/err")" '^patchbay: PATCHBAY_FTRACE: .*is not started'
same "nothing is traced" "" "$(of enabled_functions)"
stop
filter_of function_graph PATCHBAY_FTRACE_GRAPH_FILTER nosuch_function nop
stop
filter_of function PATCHBAY_FTRACE_FILTER nosuch_function,sys_read function
same "the others hold" sys_read "$(of set_ftrace_filter)"
stop
cat >"$conf" <<'CONF'
set_ftrace_filter = nosuch_function
current_tracer = function
CONF
start
same "a file that says so" nop "$(of current_tracer)"
has "has its lines" "$(cat "$work/err")" "^patchbay: $conf:2: .*is not started"
stop

# --- files that are not taken; the program runs
unreadable() {
  start
  has "$1" "$(cat "$work/err")" "^patchbay: PATCHBAY_CONFIG: $conf: $2"
  same "$1: once" 1 "$(wc -l <"$work/err")"
  stop
}
rm "$conf"
unreadable "no such file" "No such file or directory"
mkdir "$conf"
unreadable "a directory" "This is not an ordinary file"
rmdir "$conf"
mkfifo "$conf"
unreadable "a pipe" "This is not an ordinary file"
rm "$conf"
echo "trace_clock = mono" >"$conf"
chmod 666 "$conf"
unreadable "everybody may write" "Everybody may write to it"
chmod 644 "$conf"
head -c 1100000 /dev/zero | tr '\0' '#' >"$conf"
unreadable "too large" "It is larger than 1 MiB"

# --- children with the same environment do not repeat mistakes
echo "what" >"$conf"
PATCHBAY_CONFIG=$conf LD_PRELOAD=$agent bash -c '/bin/true; /bin/true; exit 0' 2>"$work/err"
same "said once" 1 "$(says "^patchbay: $conf:1: ")"

# --- what comes with a library
cat >"$conf" <<'CONF'
events/sdt_plug/hit/enable = 1
CONF
mkfifo "$work/line"
PATCHBAY_CONFIG=$conf LD_PRELOAD=$agent "$programs/dlopen_probes" "$programs/probe_plugin_so.so" \
  <"$work/line" >"$work/out" 2>"$work/err" &
pid=$!
started $pid
exec 7>"$work/line"
check "the agent answers" wait_for 20 test -S "$PATCHBAY_DIR/$pid/ctl.sock"
check "a line that waits is said" wait_for 20 \
  grep -q "^patchbay: $conf:1: events/sdt_plug/hit/enable: there is no such event" "$work/err"
printf '.' >&7
# shellcheck disable=SC2317  # called by wait_for
is_on() { [[ $(of events/sdt_plug/hit/enable) == 1 ]]; }
check "it was done when its event came" wait_for 20 is_on
echo >&7
wait $pid

# --- what a tool defines: before main() when it starts the program, or later
cat >"$conf" <<'CONF'
events/functions/two_numbers/filter = a > 995
events/functions/sys_read/enable = 1
CONF
PATCHBAY_CONFIG=$conf "$patchbay" record -o "$work/t.dat" -e 'two_numbers(int a, int b)' -- \
  "$programs/calls" >"$work/out" 2>"$work/err"
same "a filter of what record defines" 4 "$(count_of "$work/t.dat" two_numbers)"
start
check "nobody has defined it yet" wait_for 20 \
  grep -q "sys_read/enable: there is no such" "$work/err"
"$patchbay" write $pid function_events 'sys_read(long a)'
# shellcheck disable=SC2317  # called by wait_for
is_enabled() { [[ $(of events/functions/sys_read/enable) == 1 ]]; }
check "it is enabled soon after" wait_for 20 is_enabled
stop

# --- a set-user-id program has no agent and reads nothing
if ((EUID == 0)); then
  echo "what" >"$conf"
  cp "$program" "$work/setuid"
  chown nobody "$work/setuid"
  chmod 4755 "$work/setuid"
  PATCHBAY_CONFIG=$conf timeout 0.5 "$work/setuid" 2>"$work/err"
  same "a set-user-id program" "" "$(cat "$work/err")"
fi
finish
