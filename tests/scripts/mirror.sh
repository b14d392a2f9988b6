#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `patchbay mirror` and the trigger: what the kernel sees of an event is what the program has done,
# at 8 threads, in forked children, with a filter and a count; and the kernel's uprobe_events is as
# it was when either side has ended or was killed. Beside somebody else's lines, and two tools.
. "$(dirname "$0")/common.bash"
[[ $(id -u) == 0 ]] || skip "uprobes need root"
mkdir "$work/tracefs"
mount -t tracefs none "$work/tracefs" 2>/dev/null || skip "tracefs cannot be mounted here"
tracefs=$work/tracefs
instance=$tracefs/instances/mirror_test_$$
leave() {
  [[ ! -d $instance ]] || { echo 0 >"$instance/events/enable"; rmdir "$instance"; }
  "$patchbay" mirror --clean >/dev/null 2>&1
  echo "-:own_$$/own_work" >>"$tracefs/uprobe_events"
  umount "$tracefs"
  cleanup
} 2>/dev/null
trap leave EXIT
[[ -e $tracefs/uprobe_events ]] || skip "this kernel has no uprobes"
mkdir "$instance" 2>/dev/null || skip "this kernel makes no instance of tracefs"
cd "$work" || exit 1

our_lines() { grep -F "$work/" "$tracefs/uprobe_events" | grep -v ":own_"; }
nothing_left() {
  same "$1: no line is left" "" "$(our_lines)"
  same "$1: no list is left" "" "$(cd "$PATCHBAY_DIR" && ls -d mirror.* 2>/dev/null)"
}
# start_mirror ARG… : sets tool; returns when it is set up, or has ended.
start_mirror() {
  : >mirror.out
  "$patchbay" mirror "$@" >mirror.out 2>mirror.err &
  tool=$!
  started $tool
  wait_for 60 grep -q "bpftrace" mirror.out || fail "mirror $*: $(cat mirror.err)"
}
end_mirror() {
  kill -INT $tool
  wait $tool
  same "$1: the status" 0 $?
}
# listen SYSTEM EVENT, stop_listening SYSTEM EVENT : the kernel's own event, in our instance.
listen() {
  echo >"$instance/trace"
  echo 1 >"$instance/events/$1/$2/enable"
}
stop_listening() { echo 0 >"$instance/events/$1/$2/enable"; }
seen() { grep -c ": $1: " "$instance/trace"; }
texts() { sed -n 's/.* \(text\|s\)="\(.*\)".*/\2/p' "$instance/trace" | sort | uniq -c | xargs; }
ask() {
  echo "$1" >&3
  read -r -t 60 answer <&4
  same "the program: $1" "done" "$answer"
}
state() { "$patchbay" cat "$pid" "events/$1/mirror"; }

# --- own program: counts and texts, 8 threads
echo 8192 >"$instance/buffer_size_kb"
start_driven mirror_calls
start_mirror -p "$pid" 'mirrored_work(int n, string text)'
has "it says how to listen" "$(cat mirror.out)" "perf record -e functions:mirrored_work -p $pid"
has "it names the arguments" "$(cat mirror.out)" 'arg0 = n \(s32\), arg1 = text \(text\)'
has "the kernel has it" "$(our_lines)" "^p:functions/mirrored_work $PATCHBAY_DIR/$pid/mirror/"
same "the file says so" 1 "$(state functions/mirrored_work)"
has "and the trigger" "$("$patchbay" cat "$pid" events/functions/mirrored_work/trigger)" \
  "^mirror:unlimited$"
ask "run 8 500" # nobody listens
listen functions mirrored_work
ask "run 8 500"
stop_listening functions mirrored_work
ask "run 8 500"
same "8 threads: all and no more" 4000 "$(seen mirrored_work)"
same "8 threads: the texts" "800 text 0 800 text 1 800 text 2 800 text 3 800 text 4" "$(texts)"
same "8 threads: the numbers" "8 n=499" \
  "$(grep -o 'n=499 ' "$instance/trace" | sort | uniq -c | xargs)"

# --- forked children
listen functions mirrored_work
ask "fork 300"
stop_listening functions mirrored_work
same "a child is heard" 300 "$(seen mirrored_work)"

# --- recorded by us and by the kernel at once
echo >"$instance/trace"
"$patchbay" write "$pid" events/functions/mirrored_work/enable 1
listen functions mirrored_work
ask "run 2 100"
stop_listening functions mirrored_work
"$patchbay" write "$pid" events/functions/mirrored_work/enable 0
same "both see the same" "$(seen mirrored_work)" \
  "$("$patchbay" cat "$pid" trace | grep -c 'mirrored_work(')"

# --- two tools: the line goes with the last
first=$tool
start_mirror -p "$pid" functions:mirrored_work
kill -INT "$first"
wait "$first"
same "the first of two: the status" 0 $?
same "the other one still has its line" 1 "$(our_lines | grep -c mirrored_work)"
same "and the trigger" 1 "$(state functions/mirrored_work)"
"$patchbay" mirror -p "$pid" -f 'n == 1' functions:mirrored_work >other.out 2>&1
same "another filter for the same event: refused" 1 $?
has "and why" "$(cat other.out)" "is mirrored already, as 'mirror:unlimited'"
same "which changes nothing" 1 "$(our_lines | grep -c mirrored_work)"
end_mirror "Ctrl-C"
nothing_left "Ctrl-C"
check "the trigger has gone" test "$(state functions/mirrored_work)" != 1

# --- filter and count
start_mirror -p "$pid" -f 'n >= 490' 'mirrored_work(int n, string text)'
listen functions mirrored_work
ask "run 8 500"
same "the filter is ours" 80 "$(seen mirrored_work)"
trigger=events/functions/mirrored_work/trigger
"$patchbay" write "$pid" "$trigger" '!mirror'
"$patchbay" write "$pid" "$trigger" 'mirror:7 if n >= 490'
echo >"$instance/trace"
ask "run 8 500"
stop_listening functions mirrored_work
same "the count is exact" 7 "$(seen mirrored_work)"
has "the count is used up" "$("$patchbay" cat "$pid" "$trigger")" "^mirror:count=0 if n >= 490$"

# --- the tool is killed, beside somebody's own line
echo "p:own_$$/own_work $PATCHBAY_DIR/$pid/mirror/functions.mirrored_work:0x400(0x1000)" \
  >>"$tracefs/uprobe_events"
kill -9 $tool
wait $tool 2>/dev/null
same "a killed tool leaves its line" 1 "$(our_lines | wc -l)"
has "clean -n says so" "$("$patchbay" clean -n)" "would remove functions:mirrored_work"
same "and does nothing" 1 "$(our_lines | wc -l)"
has "clean removes it" "$("$patchbay" clean)" "removed functions:mirrored_work"
nothing_left "a killed tool"
same "others' lines stay" 1 "$(grep -c "own_$$/own_work" "$tracefs/uprobe_events")"
start_mirror -p "$pid" 'mirrored_work(int n, string text)'
kill -9 $tool
wait $tool 2>/dev/null
start_mirror -p "$pid" mirrored:step
same "the next run removes it, too" 1 "$(our_lines | wc -l)"

# --- a static event, with an array and a real number
listen mirrored step
ask "step 8 100"
stop_listening mirrored step
same "static: all and no more" 800 "$(seen step)"
has "static: the fields" "$(cat "$instance/trace")" \
  'n=99 half=0x4048c00000000000 name="text 4" three=\{99,100,101\} text="text 4"$'
# The event is listened to when its tool ends.
listen mirrored step
kill -INT $tool
wait $tool
same "listened to at its end: the status" 1 $?
has "and it is said" "$(cat mirror.err)" "mirrored:step is still listened to"
ask "step 1 10"
same "no more comes" 0 "$(seen step)"
stop_listening mirrored step
has "clean removes it later" "$("$patchbay" mirror --clean)" "removed mirrored:step"
nothing_left "listened to at its end"

# --- two processes with the same event
held=$pid
start_mirror -p "$held" mirrored:step
"$programs/mirror_calls" </dev/null >/dev/null # it runs without any of this, too
mkfifo in2
LD_PRELOAD=$agent "$programs/mirror_calls" <in2 >/dev/null &
other=$!
started $other
exec 5>in2
wait_for 60 "$patchbay" ls $other
"$patchbay" mirror -p $other mirrored:step >two.out 2>two.err &
second=$!
started $second
wait_for 60 grep -q bpftrace two.out || fail "the second process: $(cat two.err)"
has "the second process has another group" "$(cat two.out)" "perf record -e mirrored_$other:step"
has "which is said" "$(cat two.err)" "the kernel has an event mirrored:step already"
same "both have a line" 2 "$(our_lines | wc -l)"
# --- the target is killed while somebody listens
listen "mirrored_$other" step
kill -9 $other
wait_for 60 grep -q "has ended" two.err || fail "the end of the target is not said"
stop_listening "mirrored_$other" step
wait $second
same "the target has gone: the status" 0 $?
same "its line went" 1 "$(our_lines | wc -l)"
end_mirror "the first process"
nothing_left "two processes"

# --- refusals
refused() {
  timeout 60 "$patchbay" mirror -p "$held" "${@:2}" >refused 2>&1 </dev/null
  same "$1: status" 1 $?
  cat refused
}
has "no such event" "$(refused "no such event" nosuch:event)" "nosuch"
has "a filter that does not fit" "$(refused filter -f 'nosuch > 1' mirrored:step)" "nosuch"
field=a_field_with_a_name_of_more_than_31
"$patchbay" write "$held" function_events "long_field=mirrored_work(int $field)"
has "a long field" "$(refused "a long field" functions:long_field)" \
  "fields of at most 31 letters"
nothing_left "refusals"
start_mirror -p "$held" mirrored:step
rm "$PATCHBAY_DIR/$held/mirror/mirrored.step"
has "its file was removed" "$(refused "its file was removed" mirrored:step)" "has been removed"
"$patchbay" write "$held" events/mirrored/step/mirror 0
"$patchbay" write "$held" events/mirrored/step/mirror 1
check "it is made anew" test -e "$PATCHBAY_DIR/$held/mirror/mirrored.step"
end_mirror "a file that was removed"
nothing_left "a file that was removed"
same "the program never knew" "done" "$(echo "run 1 1" >&3 && read -r -t 60 x <&4 && echo "$x")"
mkdir "$work/noexec"
mount -t tmpfs -o noexec,mode=700 none "$work/noexec" && {
  PATCHBAY_DIR=$work/noexec LD_PRELOAD=$agent "$programs/mirror_calls" <in2 >/dev/null 5>&- &
  shut=$!
  started $shut
  wait_for 60 env PATCHBAY_DIR="$work/noexec" "$patchbay" ls $shut
  has "noexec" "$(PATCHBAY_DIR=$work/noexec "$patchbay" mirror -p $shut mirrored:step 2>&1)" \
    "mounted noexec"
  exec 5>&-
  wait $shut
  umount "$work/noexec"
}
# --- detached, and attached again: one probe of that name is mapped, and nothing is left
start_attached() {
  "$programs/mirror_calls" <in3 >/dev/null 2>&1 &
  pid=$!
  started $pid
}
rm -f in3
mkfifo in3
start_attached
exec 6>in3
for round in 1 2 3; do
  start_mirror -p "$pid" 'mirrored_work(int n, string text)'
  same "round $round: it is mapped once, as text and semaphore" 2 \
    "$(grep -c mirrored_work "/proc/$pid/maps")"
  end_mirror "round $round"
  wait_for 60 test ! -e "$PATCHBAY_DIR/$pid" || fail "round $round: the directory stays"
done
same "nothing is mapped when the agent has left" 0 "$(grep -c mirrored_work "/proc/$pid/maps")"
exec 6>&-
wait $pid

finish
