# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What the scripts share that attach to real programs; behind common.bash.
rounds=${ATTACH_ROUNDS:-3}
trap '' PIPE  # a program that has died must not end the script

not_installed() { echo "SKIPPED: $1 is not installed"; }

# The text of libc and of the program, as it is in memory: one line a mapping.
text_of() {
  python3 - "$here" "$1" <<'PYTHON'
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from attach_target import Picture
for start, (name, text) in sorted(Picture(int(sys.argv[2])).text.items()):
    print(f"{start:x} {name} {hashlib.sha256(text).hexdigest()}")
PYTHON
}
# dispositions PID : what signals do. libc catches 32 and 33 from the first pthread_create() on.
dispositions() {
  local ignored caught
  ignored=$(sed -n 's/^SigIgn:\t*//p' "/proc/$1/status")
  caught=$(sed -n 's/^SigCgt:\t*//p' "/proc/$1/status")
  printf '%s %x\n' "$ignored" $((0x${caught:-0} & ~(3 << 31)))
}

# come_and_go NAME PID : as often as `rounds` says. Nothing of the text is another afterwards.
come_and_go() {
  local name=$1 target=$2 text signals i out
  text=$(text_of "$target") signals=$(dispositions "$target")
  for ((i = 0; i < rounds; i++)); do
    out=$(timeout 30 "$patchbay" attach "$target" 2>&1)
    same "$name: attach $i: $out" 0 $? || return
    sleep 0.1
    out=$(timeout 30 "$patchbay" detach "$target" 2>&1)
    same "$name: detach $i: $out" 0 $?
  done
  same "$name: its text is as before" "$text" "$(text_of "$target")"
  same "$name: its signals are as before" "$signals" "$(dispositions "$target")"
}

# begin_recording NAME PID FUNCTION EVENT : into NAME.dat; returns when the function is patched.
# end_recording NAME
declare -A recorder
begin_recording() {
  timeout 120 "$patchbay" record -q -b 16M -o "$1.dat" -e "$4" -p "$2" >"$1.log" 2>&1 6>&- &
  recorder[$1]=$!
  started $!
  is_recorded() { "$patchbay" cat "$1" enabled_functions | grep -q "^$2 "; }
  wait_for 20 is_recorded "$2" "$3" || fail "$1: nothing is recorded: $(cat "$1.log")"
}
end_recording() {
  pkill -INT -P "${recorder[$1]}"  # the tool below timeout
  wait "${recorder[$1]}"
  same "$1: the recording has ended well: $(cat "$1.log")" 0 $?
}
events_in() { "$patchbay" report -i "$1.dat" 2>/dev/null | grep -cE -- '->[A-Za-z0-9_]+\('; }
