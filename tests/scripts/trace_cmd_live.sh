#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's trace-cmd, unmodified, on a running process through `patchbay with-tracefs`; and
# patchbay's own commands of the same names.
. "$(dirname "$0")/common.bash"
need trace-cmd
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted"

LD_PRELOAD=$agent "$programs/steady" 1000 10 >/dev/null 2>&1 &
pid=$!
started $pid
wait_for 20 "$patchbay" ls $pid || fail "the program has no agent"
cd "$work" || exit 1
mounts=$(md5sum </proc/mounts)
tc() { timeout 60 "$patchbay" with-tracefs $pid -- trace-cmd "$@"; }
"$patchbay" write $pid function_events 'work(long n, string name)'

# gaps FILE : counts of events, and whether each call follows the one before.
gaps() {
  trace-cmd report -i "$1" 2>/dev/null |
    sed -n 's/.*work:.*(n=\([0-9]*\), name=steady)$/\1/p' |
    awk 'NR == 1 { last = $1 - 1 } $1 != last + 1 { gaps++ } { last = $1; n++ }
         END { print (n > 1000 ? "many" : n + 0), gaps + 0 }'
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; false; }; }

has "list -e" "$(tc list -e 2>&1)" '^functions:work$'
has "list -C" "$(tc list -C 2>&1)" 'x86-tsc'
has "list -o" "$(tc list -o 2>&1)" 'event-fork'
for how in "" --nosplice; do
  # shellcheck disable=SC2086
  check "record $how" quietly tc record $how -e functions:work -o "$work/t.dat" sleep 1
  same "record $how: every call, in order" "many 0" "$(gaps "$work/t.dat")"
done
check "record with a filter" \
  quietly tc record -e functions:work -f 'n & 1' -o "$work/f.dat" sleep 0.3
same "only what passes" 0 "$(trace-cmd report -i "$work/f.dat" 2>/dev/null |
  grep -cE 'n=[0-9]*[02468],')"
check "record -B" quietly tc record -B blue -e functions:work -o "$work/b.dat" sleep 0.3
has "its events are the instance's" "$(trace-cmd report -i "$work/b.dat" 2>&1)" '^ *blue: .*work:'
has "names come from the process" "$(trace-cmd report -i "$work/t.dat" 2>&1)" \
  'main\+0x[0-9a-f]+->work'
check "start" quietly tc start -e functions:work
has "stat" "$(tc stat 2>&1)" 'enabled'
sleep 0.1
check "stop" quietly tc stop
has "show" "$(tc show 2>&1)" 'work\(n='
check "extract" quietly tc extract -o "$work/x.dat"
has "extract has them" "$(trace-cmd report -i "$work/x.dat" 2>&1)" 'work:'
check "restart" quietly tc restart
check "start anew" quietly tc start -e functions:work
sleep 0.1
check "snapshot -s" quietly tc snapshot -s
has "snapshot" "$(tc snapshot 2>&1)" 'work\(n='
check "snapshot -f" quietly tc snapshot -f
check "reset" quietly tc reset
same "reset leaves nothing enabled" "" "$("$patchbay" cat $pid set_event)"
"$patchbay" with-tracefs $pid sh -c 'exit 7'
same "the command's exit status" 7 $?
"$patchbay" with-tracefs $pid no-such-command 2>/dev/null
same "a command that is not there" 127 $?
same "nothing stays mounted" "$mounts" "$(md5sum </proc/mounts)"

# --- many calls, counted by the program: not one is missing
for how in "" --nosplice; do
  calls=1000000
  [[ $how ]] && calls=200000  # this way trace-cmd reads a page a system call
  mkfifo "$work/go"
  LD_PRELOAD=$agent "$programs/counted" 500000 $calls <"$work/go" >"$work/counted" 2>/dev/null &
  counted=$!
  started $counted
  exec 7>"$work/go"
  wait_for 20 "$patchbay" ls $counted || fail "the counting program has no agent"
  "$patchbay" write $counted function_events 'work(long n)'
  # shellcheck disable=SC2086,SC2016
  check "record $how $calls calls" quietly timeout 60 "$patchbay" with-tracefs $counted -- \
    trace-cmd record $how -b 16384 -e functions:work -o "$work/counted.dat" \
    sh -c 'echo >&7; until grep -q calls "$0"; do sleep 0.1; done' "$work/counted"
  exec 7>&-
  kill $counted
  rm "$work/go"
  same "record $how: all of them" $calls \
    "$(trace-cmd report -R -i "$work/counted.dat" 2>/dev/null | grep -c 'work:')"
done

# --- our own
"$patchbay" write $pid tracing_on 1
"$patchbay" write --truncate $pid function_events ''
check "our start" "$patchbay" start -p $pid -e 'work(long n, string name)' -f 'n & 1'
sleep 0.1
check "our stop" "$patchbay" stop -p $pid
has "our show" "$("$patchbay" show -p $pid)" 'work\(n=[0-9]*[13579],'
has "our stat" "$("$patchbay" stat -p $pid)" 'n & 1'
check "our extract" quietly "$patchbay" extract -p $pid -o "$work/o.dat"
same "our extract is what show shows" "$("$patchbay" show -p $pid | grep -c 'work(')" \
  "$(trace-cmd report -i "$work/o.dat" 2>/dev/null | grep -c 'work:')"
check "our reset" "$patchbay" reset -p $pid
same "it has removed all" "" "$("$patchbay" cat $pid function_events)"
"$patchbay" record -q -p $pid -o "$work/r.dat" -e 'work(long n, string name)' -B red -e work \
  -f 'n < 0' 2>"$work/log" &
recorder=$!
started $recorder
wait_for 10 grep -q work <("$patchbay" cat $pid instances/patchbay-$recorder-1/set_event)
sleep 1
kill -INT $recorder
wait $recorder
same "record -p ends well" 0 $?
same "it has every call" "many 0" "$(gaps "$work/r.dat")"
same "it leaves the process as it was" "//" \
  "$("$patchbay" cat $pid set_event)/$("$patchbay" ls $pid instances)/$("$patchbay" cat $pid \
    dynamic_events)"
"$patchbay" write $pid function_events 'work(long n, string name)'
has "a wrong event is refused with near ones" \
  "$("$patchbay" record -p $pid -o "$work/n.dat" -e functions:wrok 2>&1)" "functions:work"
has "symbols" "$("$patchbay" list symbols -p $pid)" '^[0-9a-f]{16} t work'$'\t''\[steady\]$'
finish
