#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Trees of programs that behave badly, in one recording: many at once, short-lived, killed, without
# descriptors, in another root directory, of another user, on a full disk. The programs do what they
# do without us, what is recorded is counted, what is not is said, and nothing is left.
#   follow_bad.sh BUILD_DIR [REGEX]      the stories whose name the REGEX finds; all
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit 1
wanted=${1:-}
begin() { [[ $1 =~ $wanted ]] && echo "  $1"; }
exits=(-e 'exit(int status)')

# record NAME COMMAND… : to the end. Sets status, out, said.
record() {
  local name=$1
  shift
  out=$(timeout 120 "$patchbay" record -o "$work/$name.dat" "${exits[@]}" "$@" 2>said </dev/null)
  status=$?
  said=$(cat said)
}
report() { "$patchbay" report -i "$work/$1.dat" "${@:2}" 2>/dev/null; }
events() { report "$1" | grep -c 'exit(status='; }
nothing_left() {
  same "$1: nothing is left in the runtime directory" "" "$(ls "$PATCHBAY_DIR")"
  same "$1: no part is left" "" "$(compgen -G "$work/*.part")"
}

if begin bomb; then
  # A shell that forks two of itself, eight deep; each leaf executes a program.
  # shellcheck disable=SC2016  # the inner shell's
  record bomb -- bash -c 'f() { if (($1)); then f $(($1 - 1)) & f $(($1 - 1)) & wait; else
    /bin/true; fi; }; f 7; echo over'
  same "bomb: it ends as ever" "0 over" "$status $out"
  same "bomb: each program that it has executed" 128 \
    "$(report bomb --exe true | grep -c 'exit(status=0)')"
  nothing_left bomb
fi

if begin storm; then
  # One process that is 200 programs, one after the other.
  # shellcheck disable=SC2016  # the inner shell's
  echo 'n=$1; ((n)) && exec bash "$0" $((n - 1)); echo "over $$"' >storm.sh
  record storm -- bash storm.sh 200
  same "storm: it ends as ever" 0 $status
  pid=${out#over }
  same "storm: each program is in the list" 201 \
    "$(report storm --processes | awk -v pid="$pid" '$1 == pid' | wc -l)"
  same "storm: the last one ends" 1 "$(events storm)"
  nothing_left storm
fi

if begin killed; then
  # Children that are killed while they start, each a bit later than the one before.
  cat >killed.py <<'PY'
import os, signal, subprocess, time
for number in range(120):
    child = subprocess.Popen(["/bin/sleep", "1000"])
    time.sleep(number * 0.0002)
    child.kill()
    assert child.wait() == -signal.SIGKILL
print(subprocess.run(["/bin/echo", "over"], capture_output=True, text=True).stdout.strip())
PY
  record killed -- python3 killed.py
  same "killed: it ends as ever" "0 over" "$status $out"
  same "killed: the last child is recorded" 1 "$(report killed --exe echo | grep -c 'exit(')"
  same "killed: nobody goes on" "" "$(pgrep -f '^/bin/sleep 1000' || true)"
  nothing_left killed
fi

if begin closed; then
  record closed -- python3 -c 'import os
pid = os.fork()
if pid == 0:
    os.closerange(0, 1024)
    os.execv("/bin/false", ["false"])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
  same "closed: the child does what it does without us" "0 1" "$status $out"
  same "closed: the program without descriptors is recorded" 1 \
    "$(report closed --exe false | grep -c 'exit(status=1)')"
  nothing_left closed
fi

if begin root && ((EUID == 0)); then
  # Another root directory, with libc but without the agent; another user, who may not come in.
  mkdir -p jail/bin
  cp "$(type -P sh)" jail/bin/sh
  ldd jail/bin/sh | grep -oE '/[^ ]+' | while read -r file; do
    mkdir -p "jail$(dirname "$file")" && cp -L "$file" "jail$file"
  done
  record root -- bash -c 'chroot "$0" /bin/sh -c "echo in; exit 3"; echo $?' "$work/jail"
  same "root: it ends as ever" "0 in 3" "$status $(xargs <<<"$out")"
  has "root: it is said" "$said" 'not recorded \(.*root directory\): /bin/sh'
  has "root: as an event" "$(report root)" 'exec_not_followed: path=/bin/sh reason=.*root directory'
  nothing_left root
  record user -- setpriv --reuid 65534 --regid 65534 --clear-groups bash -c 'ls -d /; exit 4'
  same "user: it ends as ever" "4 /" "$status $out"
  has "user: it is said" "$said" 'not recorded \(.*out of its reach\)'
  nothing_left user
fi

if begin apart && ((EUID == 0)) && unshare -mpf --mount-proc true 2>/dev/null; then
  # Mounts of its own: it is recorded. Process ids of its own: it is said that it is not.
  record mounts -- unshare -m bash -c '/bin/false; echo in; exit 5'
  same "mounts: it ends as ever" "5 in" "$status $out"
  same "mounts: the program inside is recorded" 1 \
    "$(report mounts --exe false | grep -c 'exit(status=1)')"
  nothing_left mounts
  # shellcheck disable=SC2016  # the inner shell's
  record numbers -- unshare -mpf --mount-proc bash -c '/bin/false; echo "in $$"; exit 5'
  same "numbers: it ends as ever" "5 in 1" "$status $out"
  has "numbers: it is said" "$said" 'not recorded \(it has process numbers of its own.*bash'
  nothing_left numbers
fi

if begin unwritable; then
  said=$(PATCHBAY_DIR=/proc/sys/patchbay timeout 60 "$patchbay" record -o none.dat \
    "${exits[@]}" -- true 2>&1)
  same "unwritable: status" 1 $?
  has "unwritable: which directory" "$said" '/proc/sys/patchbay'
fi

if begin full && ((EUID == 0)) && unshare -m true 2>/dev/null; then
  # shellcheck disable=SC2016  # the inner shell's
  unshare -m --propagation private bash -c '
    mkdir -p small && mount -t tmpfs -o size=1m none small || exit 77
    timeout 120 "$0" record -o small/full.dat -e "getenv(string name)" -- bash -c "
      for i in 1 2 3 4 5 6 7 8; do \"$1/function_calls\" 30000 >/dev/null 2>&1 || ls / >/dev/null
      done; for ((i = 0; i < 150; i++)); do env true; done; echo over" 2>said >out
    echo "status $?"; ls small' "$patchbay" "$programs" >full.said 2>&1
  has "full: the program ends as ever" "$(cat out)" '^over$'
  has "full: it is said" "$(cat said)" 'disk|room|No space'
  has "full: the status says so" "$(cat full.said)" '^status 1$'
  same "full: it is said once" 1 "$(grep -ciE 'No space|no room|the disk' said)"
  same "full: nothing is left" "" "$(ls "$PATCHBAY_DIR")"
fi

if begin again && ((EUID == 0)) && unshare -pf --mount-proc true 2>/dev/null; then
  # A number that is given out again belongs to two programs.
  cat >again.py <<'PY'
import os
def child(words):
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write("700")
    pid = os.fork()
    if pid == 0:
        os.execv(words[0], words)
    os.waitpid(pid, 0)
    return pid
print(child(["/bin/true"]), child(["/bin/echo", "-n"]), child(["/bin/false"]))
PY
  out=$(timeout 120 unshare -pf --mount-proc "$patchbay" record -q -o again.dat "${exits[@]}" -- \
    python3 again.py 2>said)
  same "again: one number" "701 701 701" "$out"
  for name in true echo false; do
    same "again: $name is recorded by itself" 1 "$(report again --exe $name | grep -c 'exit(')"
  done
  nothing_left again
fi

if begin twice; then
  record twice -- "$patchbay" record -q -o inner.dat "${exits[@]}" -- sh -c 'ls -d /; true'
  same "twice: it ends as ever" "0 /" "$status $out"
  check "twice: the inner recording has its events" test "$(events inner)" -ge 1
  nothing_left twice
fi
finish
