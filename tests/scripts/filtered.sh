#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Under a filter of system calls (seccomp), as a container has one: calls that are not needed may be
# missing; a process that has the same filter as the tool is attached to.
. "$(dirname "$0")/common.bash"
need python3 unshare
cat >"$work/deny.py" <<'PYTHON'
# deny.py NUMBER,… COMMAND… : those system calls answer ENOSYS in the command.
import ctypes, os, struct, sys
load, jump, answer = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
code = struct.pack("HBBI", load, 0, 0, 0)
for number in sys.argv[1].split(","):
    code += struct.pack("HBBI", jump, 0, 1, int(number))
    code += struct.pack("HBBI", answer, 0, 0, 0x00050000 | 38)
code += struct.pack("HBBI", answer, 0, 0, 0x7FFF0000)
class Program(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
filter = Program(len(code) // 8, code)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filter), 0, 0): sys.exit(77)
os.execvp(sys.argv[2], sys.argv[2:])
PYTHON
flock=73 inotify_init1=294 reboot=169 listen=50

cd "$work" || exit 1
python3 deny.py $inotify_init1 "$patchbay" record -e 'getenv(string name)' -o a.dat -- \
  sh -c 'env true; exit 5' >said 2>&1
same "without watches: the status is the program's" 5 $?
has "and all its programs are recorded" "$(cat said)" 'programs are in the file: .*env'
python3 deny.py $flock,$inotify_init1 "$patchbay" record -e 'getenv(string name)' -o a.dat -- \
  env true >said 2>&1
same "without locks: the status" 0 $?
has "the program is recorded" "$(cat said)" 'record: [1-9][0-9]* events'
has "and it is said that others are not" "$(cat said)" 'executes is not recorded.*flock'

# As in a container: all have the filter that its first process has.
cat >inside <<'INSIDE'
patchbay=$1 programs=$2
"$programs/steady" 2000 >/dev/null 2>&1 &
pid=$!
until grep -q "^State:.[SR]" /proc/$pid/status; do :; done
"$patchbay" "${@:3}" -p $pid &
tool=$!
# Until it says that it records, or ends.
until grep -q 'attached to\|seccomp' said 2>/dev/null || ! kill -0 $tool 2>/dev/null; do
  sleep 0.05
done
kill -INT $tool
wait $tool
echo "status: $?"
kill -0 $pid && echo "the process: alive"
kill $pid
INSIDE
inside() {  # inside NUMBER ARGUMENTS… : of the tool
  : >said
  unshare --pid --fork --mount-proc python3 deny.py "$1" bash inside "$patchbay" "$programs" \
    "${@:2}" >said 2>&1
}
if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
  echo "filtered.sh: no pid namespace can be made here: containers are SKIPPED"
  finish
fi
inside $reboot record -e 'work(long n)' -o b.dat
has "a process under the same filter is recorded" "$(cat said)" 'status: 0'
has "and goes on" "$(cat said)" 'the process: alive'
inside $listen record -e 'work(long n)' -o b.dat
has "a call that the agent needs is named" "$(cat said)" 'seccomp\) does not allow listen'
has "and the process goes on" "$(cat said)" 'the process: alive'

# As containers that share the numbers of processes: each has one filter, and not the same one.
cat >beside <<'BESIDE'
for _ in $(seq 400); do pid=$(pgrep -x steady) && break; sleep 0.05; done
"$1" record -e 'work(long n)' -o c.dat -p "$pid"
echo "status: $?"
kill -0 "$pid" && echo "the process: alive"
kill "$pid"
BESIDE
unshare --pid --fork --mount-proc python3 deny.py $reboot bash beside "$patchbay" >said 2>&1 &
beside=$!
numbers=/proc/$beside/ns/pid_for_children
is_another() { [[ $(readlink "$numbers") != $(readlink /proc/self/ns/pid) ]]; }
check "the numbers are there" wait_for 20 is_another
check "and their first process" wait_for 20 nsenter --pid="$numbers" true
nsenter --pid="$numbers" unshare -m python3 deny.py $listen,$reboot "$programs/steady" 2000 \
  >/dev/null 2>&1
wait $beside
has "one with another filter is refused" "$(cat said)" 'differs from the one of this command'
has "and goes on" "$(cat said)" 'the process: alive'
for command in record calls hist latency top sql view mount with-tracefs attach start; do
  has "$command takes --force" "$("$patchbay" $command --help)" '^      --force'
done
finish
