#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Agents that lie, are silent or frozen, or are another process; and one in a user namespace. Every
# command that talks with one ends when it is told to, with bounded memory, and says who it was.
# PATCHBAY_HOSTILE_ROUNDS says how often the commands are run (the default takes some seconds).
. "$(dirname "$0")/common.bash"
need python3 setpriv

python3 "$here/hostile_agent.py" "$patchbay" "$build/tests/hostile/hostile_agent" "$work" \
  "${PATCHBAY_HOSTILE_ROUNDS:-25}" >"$work/rounds"
same "all rounds are fine" 0 $?
cat "$work/rounds"

# hostile WORD… : starts one; its number in `pid`.
hostile() {
  "$build/tests/hostile/hostile_agent" "$@" >"$work/ready" &
  pid=$!
  started "$pid"
  wait_for 20 grep -q ready "$work/ready"
}
# ended PID : kills what was started.
ended() {
  kill -9 "$1"
  wait "$1" 2>/dev/null
}

fails() { ! "$patchbay" "$@" >/dev/null 2>&1; }
# A child of it answers, while the process itself is about to be something else.
hostile child 1 right
for command in "cat $pid trace" "write $pid tracing_on 0" "attach $pid" "top -p $pid --once"; do
  # shellcheck disable=SC2086
  said=$("$patchbay" $command 2>&1 </dev/null)
  same "patchbay $command fails" 1 $?
  has "patchbay $command says who answers" "$said" 'in the name of process'
done
ended "$pid"
# One that answers in the place of another.
sleep 1000 &
other=$!
started "$other"
hostile 1 right
mv "$PATCHBAY_DIR/$pid" "$PATCHBAY_DIR/$other"
check "detach of another's directory fails" fails detach "$other"
said=$("$patchbay" cat "$other" trace 2>&1)
has "cat says so" "$said" "another process answers, $pid"
has "which list does not take for an agent" "$("$patchbay" list processes)" "^ *$other no-agent"
ended "$pid"
ended "$other"
rm -r "${PATCHBAY_DIR:?}/$other"

hang=60  # seconds

# What the command `recorder` records has calls.
records() {
  timeout $hang "$patchbay" cat "$pid" "instances/patchbay-$recorder-1/trace" | grep -q 'work(n='
}

# --- frozen, in each kind of freezer that there is
frozen_by() {
  local group=$1 file=$2 on=$3 off=$4 out recorder
  LD_PRELOAD=$agent "$programs/steady" 2000 >/dev/null 2>&1 &
  pid=$!
  started $pid
  wait_for 20 "$patchbay" ls $pid
  echo $pid >"$group/cgroup.procs"
  "$patchbay" record -p $pid -e 'work(long n)' -o "$work/f.dat" >"$work/record" 2>&1 &
  recorder=$!
  started $recorder
  check "it is recorded ($file)" wait_for $hang records
  echo "$on" >"$group/$file"
  is_frozen() { "$patchbay" list processes | grep -qE "^ *$pid frozen"; }
  check "list says that it is frozen ($file)" wait_for 20 is_frozen
  out=$(timeout $hang "$patchbay" status --conf "")
  has "so does status" "$out" "^ *$pid frozen"
  for command in "cat $pid trace" "top -p $pid --once" "write $pid tracing_on 0"; do
    # shellcheck disable=SC2086
    has "patchbay $command says it" "$(timeout $hang "$patchbay" $command 2>&1)" "is frozen"
  done
  kill -INT $recorder
  wait_for $hang has_ended $recorder || kill -9 $recorder
  wait $recorder
  same "a recording ends when it is told to" 0 $?
  has "it says what stays" "$(cat "$work/record")" "$pid does not answer"
  has "and has its calls" "$("$patchbay" report -i "$work/f.dat" | tail -n 1)" 'work\(n='
  echo "$off" >"$group/$file"
  check "it goes on" wait_for 20 "$patchbay" cat $pid tracing_on
  ended $pid
}
has_ended() { ! kill -0 "$1"; }
freezer=/sys/fs/cgroup/freezer/patchbay-hostile-$$
if mkdir "$freezer" 2>/dev/null; then
  frozen_by "$freezer" freezer.state FROZEN THAWED
  wait_for 10 rmdir "$freezer"
fi
if group=$(make_group "patchbay-hostile-$$") && [[ -e $group/cgroup.freeze ]]; then
  frozen_by "$group" cgroup.freeze 1 0
  remove_group "$group"
fi

# --- root's agent in a user namespace, where root has no number
as_user=(setpriv --reuid 4711 --regid 4711 --clear-groups)
if ((EUID == 0)) && "${as_user[@]}" unshare -Ur true 2>/dev/null; then
  for options in -Ur -U; do
    "${as_user[@]}" unshare "$options" "$programs/steady" 2000 >/dev/null 2>&1 &
    pid=$!
    started "$pid"
    is_steady() { [[ $(cat "/proc/$pid/comm") == steady ]]; }
    wait_for 20 is_steady
    check "attach to one of unshare $options" timeout $hang "$patchbay" attach "$pid" >/dev/null
    same "it is spoken to" 1 "$(timeout $hang "$patchbay" cat "$pid" tracing_on 2>&1)"
    check "it is taken out" timeout $hang "$patchbay" detach "$pid" >/dev/null
    check "with its directory" test ! -e "$PATCHBAY_DIR/$pid"
    "$patchbay" record -q -p "$pid" -e 'work(long n)' -o "$work/ns.dat" >"$work/said" 2>&1 &
    recorder=$!
    started $recorder
    check "it is recorded" wait_for $hang records
    kill -INT $recorder
    wait $recorder
    has "with its calls" "$("$patchbay" report -i "$work/ns.dat" | tail -n 1)" 'work\(n='
    check "and nothing stays" test ! -e "$PATCHBAY_DIR/$pid"
    ended "$pid"
  done
else
  echo "no user namespaces can be made here, or not as root: not tested"
fi
finish
