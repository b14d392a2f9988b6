#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Root attaches to processes of a user who uses it: they play the agent, and execute a program of
# root's (set-user-id) at the worst moment. That program's memory and registers are never touched.
#   attach_hostile.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need setpriv
((EUID == 0)) || skip "set-user-id programs take root"
cd "$work" || exit 1
chmod 777 "$work"
cp "$build/tests/attach/plays_agent" "$build/tests/attach/set_user_id" .
chmod 4755 set_user_id
as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
mkfifo go
exec 7<>go
"${as_user[@]}" ./set_user_id go >out &
started $!
wait_for 10 grep -q '^executed: user' out
grep -q '^executed: user 0$' out || skip "set-user-id programs do not work in $work"
echo >&7
wait $!
same "the program of root's by itself" "untouched" "$(tail -n 1 out)"

rounds=${HOSTILE_ROUNDS:-8}

# play MODE : starts the user's program; sets pid.
play() {
  rm -f execute
  "${as_user[@]}" ./plays_agent "$1" "$work/set_user_id" go >"$1.out" 2>&1 &
  pid=$!
  started $pid
  wait_for 20 grep -q ready "$1.out" || fail "$1: it does not run"
}
runs_roots_program() { grep -q '^executed: user 0$' "$1.out"; }
# untouched SENTENCE MODE : root's program, which runs now, ends and says so.
untouched() {
  wait_for 20 runs_roots_program "$2" || fail "$1: root's program does not run: $(cat "$2.out")"
  echo >&7
  wait $pid
  same "$1: root's program ends well" 0 $?
  same "$1: nobody has written into root's program" untouched "$(tail -n 1 "$2.out")"
  pkill -9 -f "plays_agent .* $work/"  # what it has left behind
}

for mode in first executes loader; do
  play $mode
  said=$(timeout 60 "$patchbay" attach $pid 2>&1)
  same "$mode: the attach is refused: $said" 1 $?
  [[ $mode != first ]] || has "$mode: why" "$said" "plays one"
  [[ $mode != first ]] || : >execute
  untouched "attach, $mode" $mode
done

play detach
said=$(timeout 60 "$patchbay" attach $pid 2>&1)
same "detach: it plays the agent: $said" 0 $?
: >execute
wait_for 20 runs_roots_program detach
said=$(timeout 60 "$patchbay" detach $pid 2>&1)
same "detach: is refused: $said" 1 $?
untouched "detach" detach

play detach
timeout 60 "$patchbay" top -p $pid >top.out 2>&1 &
top=$!
started $top
wait_for 20 test -S "$PATCHBAY_DIR/$pid/ctl.sock"
: >execute
wait_for 20 runs_roots_program detach
pkill -INT -P $top
wait $top
untouched "the end of top" detach

# A container, with another root, whose user is root: it gets the agent, and can write neither that
# nor anything beside it.
if unshare -pfm true 2>/dev/null; then
  mkdir -p root/proc
  for file in ./plays_agent $(ldd ./plays_agent | grep -o '/[^ ]*'); do
    mkdir -p "root/$(dirname "$file")" && cp "$file" "root/$file"
  done
  cat >inside.sh <<'EOS'
mount -t proc proc root/proc && exec chroot root /plays_agent writes x x
EOS
  unshare -pfm bash inside.sh >writes.out 2>&1 &
  outer=$!
  started $outer
  wait_for 20 grep -q ready writes.out || fail "no container: $(cat writes.out)"
  pid=$(pgrep -P $outer)
  started "$pid"
  said=$(timeout 60 "$patchbay" attach "$pid" 2>&1)
  same "the container refuses the library: $said" 1 $?
  check "it was asked to load it" grep -q "^has tried" writes.out
  same "it had the library before it, and nothing else" \
    "is given: $(basename "$(realpath "$agent")")" \
    "$(grep '^is given' writes.out | sort -u)"
  same "it could write nothing" "" "$(grep '^could' writes.out)"
  same "the library and its directory are as they were" "" \
    "$(find "$build/lib" \( -name 'made-by*' -o -name 'libpatchbay*' \) -newer inside.sh)"
  kill -9 "$pid"
else
  echo "SKIPPED: no namespaces can be made here"
fi

# A tool that is stopped holds no thread of a program: neither by Ctrl-Z nor by a signal that no
# mask keeps away.
mkfifo hold
exec 8<>hold
"$build/tests/attach/idle_threads" 300 <hold >threads.out 2>&1 &
pid=$!
started $pid
all_there() { (($(ls /proc/$pid/task | wc -l) > 300)); }
wait_for 20 all_there || fail "there are no 300 threads"
none_is_held() { ! cat /proc/$pid/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -q '^t'; }
for ((i = 0; i < rounds; i++)); do
  command=attach
  ((i % 2)) && command=detach
  timeout -k 1 60 "$patchbay" $command $pid >said 2>&1 &
  tool=$!
  sleep 0.0$((RANDOM % 9))  # a moment of the work, whichever
  signal=TSTP
  ((i % 4 < 2)) && signal=STOP
  stopped=$(pgrep -P $tool -x patchbay) && kill -$signal "$stopped"
  wait_for 2 none_is_held || fail "round $i: a stopped tool holds threads: $command"
  # It stops once more, as it was told to, when it has let the threads go.
  has_ended() { kill -CONT ${stopped:+"$stopped"} 2>/dev/null; ! kill -0 $tool; }
  wait_for 60 has_ended || fail "round $i: $command does not end"
done
"$patchbay" detach $pid >/dev/null 2>&1
check "the program has lived through it" kill $pid

# A program of the user's own, which plays nothing, executes root's again and again while commands
# come and go.
execs=${HOSTILE_EXECS:-300}
"${as_user[@]}" ./plays_agent storm "$work/set_user_id" go "$execs" >storm.out 2>&1 &
storm=$!
started $storm
for ((i = 0; ; i++)); do
  kill -0 $storm 2>/dev/null || break
  case $((i % 4)) in
    0) timeout 60 "$patchbay" attach $storm ;;
    1) timeout 60 "$patchbay" detach $storm ;;
    2) timeout -s INT 0.2 "$patchbay" record -q -e read -o x.dat -p $storm ;;
    3) timeout -s INT 0.2 "$patchbay" top -p $storm ;;
  esac >>said 2>&1 </dev/null
done
wait $storm
same "$execs execs beside $i commands: root's program ends well" 0 $?
same "$execs execs beside $i commands: nobody has written into it" untouched "$(cat storm.out)"
finish
