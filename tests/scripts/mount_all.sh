#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay mount --all: one directory whose files are those of every process. What is written there
# reaches all, and those that come; what is read is merged.
. "$(dirname "$0")/common.bash"
need fusermount3 python3
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"

mnt=$work/mnt all=$work/mnt/all
mkdir "$mnt"
unmount() { fusermount3 -u "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" 2>/dev/null; }
trap 'unmount; cleanup' EXIT

# start_worker NAME : on_command under this name of ours, which does what `tell NAME …` says.
declare -A pid_of input_of told
start_worker() {
  local name=$1 fd
  mkfifo "$work/in.$name"
  exec {fd}<>"$work/in.$name"
  LD_PRELOAD=$agent "$programs/on_command" <&"$fd" >"$work/out.$name" 2>&1 &
  pid_of[$name]=$!
  input_of[$name]=$fd
  told[$name]=0
  started $!
  disown $!
}
has_come() { [[ -e $mnt/${pid_of[$1]}/trace ]]; }
has_answered() { [[ $(grep -c '^done' "$work/out.$1") == "${told[$1]}" ]]; }
tell() {
  local name=$1
  echo "${@:2}" >&"${input_of[$name]}"
  told[$name]=$((told[$name] + 1))
  wait_for 60 has_answered "$name" || fail "$name does not answer"
}
lines() { grep -v '^#' "$1" | grep -cE -- "$2"; }
in_order() { grep -v '^#' | sed -n 's/.* \([0-9]*\.[0-9]*\): .*/\1/p' | sort -c -n; }

out=$("$patchbay" mount --all -p 1 "$mnt" 2>&1)
same "it is for all processes" 2 $?
has "which is said" "$out" "without -p"
check "the mount is ready when the command returns" "$patchbay" mount --all "$mnt"

# --- nobody is there yet
same "only the directory of all" all "$(ls "$mnt")"
check "a definition waits for who comes" bash -c "echo 'p:early beta' >> $all/kprobe_events"
check "so does a number" bash -c "echo 5 > $all/max_graph_depth"
check "a file that nobody has is not there" test ! -e "$all/events/kprobes/early/enable"

# --- three come
for name in a b c; do start_worker $name; done
for name in a b c; do wait_for 60 has_come $name || fail "$name is not seen"; done
same "a directory for each, and all" \
  "$(printf '%s\n' "${pid_of[@]}" all | sort)" "$(ls "$mnt" | sort)"
same "each has what was written before" "p:kprobes/early beta" \
  "$(cat "$mnt"/[0-9]*/kprobe_events | sort -u)"
same "what is the same in all is shown once" "p:kprobes/early beta" "$(cat "$all/kprobe_events")"
same "the number" 5 "$(cat "$mnt/${pid_of[b]}/max_graph_depth")"
check "one echo" bash -c "echo 1 > $all/events/kprobes/early/enable"
same "reaches all" "1 1 1" "$(cat "$mnt"/[0-9]*/events/kprobes/early/enable | xargs)"
check "raw pages belong to one process" test ! -e "$all/per_cpu/cpu0/trace_pipe_raw"
check "they are not listed" test -z "$(find "$all/per_cpu/cpu0" -name '*raw')"

tell a beta 10 && tell b beta 20 && tell c beta 30
same "trace has the events of all" 60 "$(lines "$all/trace" 'early: \(beta')"
has "its head counts them" "$(cat "$all/trace")" 'entries-in-buffer/entries-written: 60/60 '
check "they are in the order of their times" in_order <"$all/trace"
same "each process has its own" "10 20 30" \
  "$(for name in a b c; do lines "$mnt/${pid_of[$name]}/trace" early; done | xargs)"
same "one byte at a time reads the same" "$(md5sum <"$all/set_event")" \
  "$(dd if="$all/set_event" bs=1 2>/dev/null | md5sum)"
: >"$all/trace"
same "> empties all" 0 "$(lines "$all/trace" .)"

# --- trace_pipe
cat "$all/trace_pipe" >"$work/pipe" &
reader=$!
started $reader
piped() { [[ $(grep -c 'early:' "$work/pipe") == "$1" ]]; }
for _ in {1..5}; do
  for name in a b c; do tell $name beta 20 2; done
done
check "trace_pipe has all events" wait_for 60 piped 600
same "each thread's share" 30 \
  "$(awk '{ print $1 }' "$work/pipe" | sort | uniq -c | awk '$1 == 20' | wc -l)"
check "in the order of their times" in_order <"$work/pipe"

# --- going and coming
kill -KILL "${pid_of[c]}"
check "who has ended is gone" wait_for 60 test ! -e "$mnt/${pid_of[c]}"
start_worker d
wait_for 60 has_come d || fail "d is not seen"
same "who comes has what was written" "p:kprobes/early beta 1" \
  "$(cat "$mnt/${pid_of[d]}"/{kprobe_events,events/kprobes/early/enable} | xargs)"
tell d beta 50 && tell a beta 50
check "the reader goes on with both" wait_for 60 piped 700
kill $reader
wait $reader 2>/dev/null
same "others are not held up" 1 "$(cat "$all/events/kprobes/early/enable")"

cat >"$work/wait.py" <<'PYTHON'
import os, select, sys
pipe = os.open(sys.argv[1] + "/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
try:
    print("read", os.read(pipe, 100))
except BlockingIOError:
    print("EAGAIN")
poll = select.poll()
poll.register(pipe, select.POLLIN)
print("poll", poll.poll(0))
open(sys.argv[1] + "/trace_marker", "w").write("hello")
print("poll", [event for _, event in poll.poll(60000)] == [select.POLLIN])
print("lines", sum(b"hello" in line for line in os.read(pipe, 65536).splitlines()) > 0)
PYTHON
same "EAGAIN and poll" "EAGAIN|poll []|poll True|lines True|" \
  "$(timeout 120 python3 "$work/wait.py" "$all" | tr '\n' '|')"

# --- what differs
echo 0 >"$mnt/${pid_of[a]}/tracing_on"
same "a switch that differs" X "$(cat "$all/tracing_on")"
echo 1 >"$all/tracing_on"
same "is the same again" 1 "$(cat "$all/tracing_on")"
echo 7 >"$mnt/${pid_of[a]}/max_graph_depth"
has "another text is shown for each, with its process" \
  "$(cat "$all/max_graph_depth" | tr '\n' '|')" "# ${pid_of[a]} on_command\|7\|"
echo 'p:mine alpha' >>"$mnt/${pid_of[b]}/kprobe_events"
same "lines that some have" "p:kprobes/early beta|p:kprobes/mine alpha|" \
  "$(cat "$all/kprobe_events" | tr '\n' '|')"
check "an event that some have" bash -c "echo 1 > $all/events/kprobes/mine/enable"
same "is enabled there" 1 "$(cat "$mnt/${pid_of[b]}/events/kprobes/mine/enable")"

# --- another program, which has no such function
"$programs/steady" 5000 >"$work/steady.out" 2>&1 &  # no agent: it is not seen
bare=$!
started $bare
LD_PRELOAD=$agent "$programs/steady" 5000 >"$work/steady.out" 2>&1 &
steady=$!
started $steady
disown $bare $steady
check "it is seen" wait_for 60 test -e "$mnt/$steady/trace"
check "who carries no agent is not" test ! -e "$mnt/$bare"
: >"$all/error_log"
check "who lacks it is passed over" bash -c "echo 'p:other gamma_one' >> $all/kprobe_events"
check "also by name" bash -c "echo kprobes:other >> $all/set_event"
same "nothing was refused" "" "$(grep refused "$all/error_log")"
check "what nobody has is refused" bash -c "! echo no:such >> $all/set_event" 2>/dev/null
has "error_log says by whom" "$(cat "$all/error_log")" "^  $steady steady: No event has this name"

# --- one refuses
echo 0 >"$all/events/kprobes/early/enable"
echo 1 >"$mnt/${pid_of[d]}/events/kprobes/early/enable"
: >"$all/error_log"
check "an event in use is refused" bash -c "! echo '-:early' >> $all/kprobe_events" 2>/dev/null
log=$(cat "$all/error_log")
has "error_log says how many" "$log" 'kprobe_events: error: 1 of 4 processes has refused'
has "what" "$log" '^  Command: -:early$'
has "who" "$log" "^  ${pid_of[d]} on_command: .*enabled"
has "and who has taken it" "$log" "^  ${pid_of[a]} on_command: has taken it"
same "those keep it" "" "$(grep early "$mnt/${pid_of[a]}/kprobe_events")"
same "the other one, too" 1 "$(grep -c early "$mnt/${pid_of[d]}/kprobe_events")"
echo 'p:bad beta bad=%nothing' 2>/dev/null >>"$all/kprobe_events"
has "each process's own log is shown, with its name" "$(cat "$all/error_log")" \
  "^${pid_of[b]} on_command:"
: >"$all/error_log"
same "> empties it" "" "$(cat "$all/error_log")"

# --- instances
check "an instance in all" mkdir "$all/instances/i"
check "is in each" test -e "$mnt/${pid_of[a]}/instances/i/trace"
check "also in another program" test -e "$mnt/$steady/instances/i/trace"
echo 0 >"$all/instances/i/tracing_on"
start_worker e
wait_for 60 has_come e
same "also in who comes" 0 "$(cat "$mnt/${pid_of[e]}/instances/i/tracing_on")"
check "and is removed in all" rmdir "$all/instances/i"
check "it is gone" test ! -e "$mnt/${pid_of[e]}/instances/i"

# --- a process that is stopped
stop_whole "${pid_of[a]}"
check "a write says so" bash -c "! echo 'p:more beta' >> $all/kprobe_events" 2>/dev/null
has "with its number" "$(cat "$all/error_log")" "^  ${pid_of[a]} on_command: .*is stopped"
same "the others have it" 1 "$(grep -c more "$mnt/${pid_of[b]}/kprobe_events")"
same "reads go on without it" 1 "$(grep -c more "$all/kprobe_events")"
kill -CONT "${pid_of[a]}"
check "it takes part again" bash -c "echo 1 > $all/tracing_on"

# --- many
many=()
for ((i = 0; i < 35; i++)); do
  LD_PRELOAD=$agent "$programs/steady" 100000 >/dev/null 2>&1 &
  many+=($!)
  started $!
  disown $!
done
all_there() { [[ $(ls "$mnt" | wc -l) == 41 ]]; }
wait_for 120 all_there || fail "$(ls "$mnt" | wc -l) of 41 names"
check "an event in forty" bash -c "echo 'p:w work' >> $all/kprobe_events"
begin=${EPOCHREALTIME/./}
check "is enabled by one echo" bash -c "echo 1 > $all/events/kprobes/w/enable"
echo "one echo to 40 processes: $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
same "everywhere" "36 1" \
  "$(cat "$mnt"/[0-9]*/events/kprobes/w/enable 2>/dev/null | sort | uniq -c | xargs)"
has "trace_pipe has them" "$(timeout 60 head -n 100 "$all/trace_pipe" 2>/dev/null)" ' w: \(work'
for i in "${many[@]}"; do kill -KILL "$i"; done 2>/dev/null
few_there() { [[ $(ls "$mnt" | wc -l) == 6 ]]; }
check "they go" wait_for 60 few_there
check "unmount" unmount
finish
