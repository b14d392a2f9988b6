#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Static events of a program and of its plug-in: format files, enabling by hand and ahead of the
# plug-in, a filter, instances, what is recorded, and trace-cmd's opinion of it.
. "$(dirname "$0")/common.bash"
program=$programs/event_app

same "without the agent nothing happens" "app 60 plugin 40" "$("$program" 2 2 10)"

# hold ARGUMENTS… : starts the program with the agent; it waits for a line, and again before its
# end.
hold() {
  rm -f "$work/line" && mkfifo "$work/line"
  LD_PRELOAD=$agent "$program" "$@" hold <"$work/line" >"$work/out" 2>"$work/err" &
  pid=$!
  started "$pid"
  exec 7>"$work/line"
  wait_for 20 "$patchbay" cat $pid available_events
}
release() { echo >&7; }
# lines EVENT : how many of the trace.
lines() { grep -cE " $1:( |\$)" "$work/trace"; }

check "the agent answers" hold 2 2 10 0
available=$("$patchbay" cat $pid available_events)
for event in app:app_work app:shared_event app:app_flags app:app_end app:differing_event; do
  has "$event is there" "$available" "^$event\$"
done
same "nothing of the plug-in yet" "" "$(grep '^plugin:' <<<"$available")"
format_of_app_flags() {
  printf '%s\n' 'name: app_flags' 'format:'
  printf '\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n' \
    'unsigned short common_type' 0 2 0 \
    'unsigned char common_flags' 2 1 0 \
    'unsigned char common_preempt_count' 3 1 0 \
    'int common_pid' 4 4 1
  printf '\n'
  printf '\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n' \
    'unsigned long flags' 8 8 0
  printf '\n%s\n' \
    'print fmt: "flags=%s", __print_flags(REC->flags, "|", {1, "A"}, {2, "B"})'
}
same "the format of app_flags" "$(format_of_app_flags)" \
  "$("$patchbay" cat $pid events/app/app_flags/format | grep -v '^ID:')"
has "arrays in a format" "$("$patchbay" cat $pid events/app/app_work/format)" \
  'field:int three\[3\];.offset:32;.size:12;.signed:1;'

"$patchbay" write $pid set_event 'app:*'
check "events of a plug-in are asked for ahead of it" \
  "$patchbay" write $pid set_event ':mod:event_plugin_so'
has "and shown as waiting" "$("$patchbay" cat $pid set_event)" ':mod:event_plugin_so'
check "a filter" "$patchbay" write $pid events/app/app_work/filter 'n > 7 && name == worker'
release
check "the program is through" wait_for 60 test -s "$work/out"
"$patchbay" cat $pid trace >"$work/trace"
same "app_work, filtered" 8 "$(lines app_work)"
same "shared_event, of the program and both lives of the plug-in" 100 "$(lines shared_event)"
same "app_flags" 4 "$(lines app_flags)"
same "differing_event, the program's own" 1 "$(lines differing_event)"
has "arrays" "$(cat "$work/trace")" \
  'app_work: thread=[01] n=9 name=worker three=\{.*1.*2.*3\} squares=\{.*51.*2d9\}'
has "flags" "$(cat "$work/trace")" 'app_flags: flags=A\|B$'
same "the plug-in took its event along" "" \
  "$("$patchbay" cat $pid available_events | grep '^plugin:')"
has "the event that differs is in error_log" "$("$patchbay" cat $pid error_log)" \
  'app:differing_event'
release
wait $pid
same "it ran as ever" "app 60 plugin 40" "$(cat "$work/out")"

# --- the file: our report and trace-cmd's
"$patchbay" recover "$PATCHBAY_DIR" -o "$work/t.dat" >"$work/recover.out" 2>&1 ||
  fail "recover: $(cat "$work/recover.out")"
"$patchbay" report -i "$work/t.dat" >"$work/report" 2>/dev/null
# The file still knows the events of the plug-in that is gone.
# Its event was on when it went, and is on again when it comes back.
same "recovered: plugin_call, of both lives" 40 "$(grep -cE ' plugin_call:' "$work/report")"
has "a text of the plug-in" "$(cat "$work/report")" \
  'plugin_call: thread=1 n=9 text=from the plug-in'
same "recovered: shared_event" 100 "$(grep -cE ' shared_event:' "$work/report")"
if command -v trace-cmd >/dev/null && command -v python3 >/dev/null; then
  # libtraceevent has a form of its own for __print_array: "1 2", where the kernel has "{0x1,0x2}".
  comparable() { "$here/normalise_report" | sed -E 's/ ([a-z_]+): */ \1: /; s/ three=.*//'; }
  trace-cmd report -i "$work/t.dat" 2>"$work/trace-cmd.err" | comparable >"$work/theirs"
  comparable <"$work/report" >"$work/ours"
  same "trace-cmd has nothing to complain of" "" "$(grep -v '^cpus=' "$work/trace-cmd.err")"
  check "trace-cmd reports the same" diff "$work/ours" "$work/theirs"
fi

# --- patchbay record
if "$patchbay" record -h 2>&1 | grep -q 'SYSTEM:EVENT\|SYS:EVENT\|sys:event\|system:event'; then
  "$patchbay" record -e app:app_flags -e app:app_work -f 'thread == 1' -e app:app_end \
    -o "$work/r.dat" -- "$program" 1 2 10 >"$work/out" 2>"$work/err"
  same "record: the program's output" "app 30 plugin 20" "$(cat "$work/out")"
  "$patchbay" report -i "$work/r.dat" >"$work/trace" 2>/dev/null
  same "record: app_flags" 4 "$(lines app_flags)"
  same "record: app_work of one thread" 15 "$(lines app_work)"
  same "record: app_end" 1 "$(lines app_end)"
fi
finish
