#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Processes of containers: namespaces of pids and mounts, another root directory, a control group of
# a container's name. They are recorded from outside, their numbers are those of here, and those
# inside stand beside.
#   container.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need unshare setpriv
((EUID == 0)) || skip "namespaces take root"
unshare -pfm --mount-proc true 2>/dev/null || skip "no namespaces can be made here"
cd "$work" || exit 1

# A shell, number 1 of its namespace, and children of it, each with a pipe that it reads words from:
# both say what they have read.
mkfifo go
cat >inside.sh <<'EOS'
exec 3<>"$1"
while read -r word <&3; do
  case $word in
    fork) (while read -r -t 60 next <"$1.child" && [[ $next != end ]]; do
      echo child >>"$1.said"; done) & ;;
    end) exit 0 ;;
    *) echo shell >>"$1.said" ;;
  esac
done
EOS
mkfifo go.child
touch go.said
unshare -pfm --mount-proc bash inside.sh "$work/go" >/dev/null 2>&1 &
outer=$!
started $outer
wait_for 30 pgrep -P $outer || fail "nobody is in the namespace"
pid=$(pgrep -P $outer)
started "$pid"
same "it is number 1 there" 1 "$(awk '/^NSpid/ { print $NF }' "/proc/$pid/status")"
wait_for 30 grep -q inside.sh "/proc/$pid/cmdline"
exec 5<>go 6<>go.child
child_is_there() { child=$(pgrep -P "$pid" -x bash); [[ $child ]]; }

# record FILE OPTIONS… : until it has events of the shell and of the child, then Ctrl-C.
record_for() { # FILE OPTIONS…
  "$patchbay" record -o "$1" -e 'read(int fd)' "${@:2}" 2>said &
  local recorder=$!
  started $recorder
  wait_for 60 grep -q "Ctrl-C ends" said || fail "it does not begin: $(cat said)"
  # One more child, which is forked while it is recorded.
  echo fork >&5
  wait_for 60 child_is_there || fail "no child"
  local before
  for _ in 1 2 3 4 5; do
    before=$(wc -l <go.said)
    echo word >&5
    echo word >&6
    have_answered() { (($(wc -l <go.said) == before + 2)); }
    wait_for 60 have_answered || fail "they do not answer"
  done
  kill -INT $recorder
  wait $recorder
  same "record ${*:2}" 0 $?
  last_child=$child
  echo end >&6
  wait_for 30 eval "! child_is_there" || fail "the child does not end"
}
record_for c.dat -p "$pid"
processes=$("$patchbay" report --processes c.dat)
has "the list has both numbers" "$processes" "^ *$pid .*bash inside.sh .* \(inside 1\)$"
has "record says them" "$(cat said)" "1 process has another number inside: bash $pid \(inside 1\)"
events=$("$patchbay" report c.dat)
has "events have the number of here" "$events" "^ *bash-$pid .*->read\(fd="
has "those of its child, too" "$events" "^ *bash-$last_child .*read\("
check "none of these has that inside" test "$(grep -cE '^ *bash-1 ' <<<"$events")" == 0
check "--pid takes the number of here" test \
  "$("$patchbay" report --json --pid "$pid" c.dat 2>err | wc -l)" -ge 5
same "--tree has all of them" "$("$patchbay" report --json c.dat 2>err | wc -l)" \
  "$("$patchbay" report --json --tree "$pid" c.dat 2>err | wc -l)"
if command -v trace-cmd >/dev/null; then
  has "trace-cmd shows the same numbers" "$(trace-cmd report -i c.dat 2>/dev/null)" \
    "^ *bash-$pid .*read.*fd="
fi
check "the process goes on" kill -0 "$pid"

# with the agent in it, the list of processes says so
"$patchbay" attach "$pid" >out 2>err
has "list processes" "$("$patchbay" list processes)" "^ *$pid .*\(inside 1\)"
has "… as JSON" "$("$patchbay" list processes --json)" "\"pid\": $pid, .*\"inside\": 1[,}]"
"$patchbay" detach "$pid" >out 2>err
same "nothing is left in the runtime directory" "" "$(ls "$PATCHBAY_DIR")"

# --- another root directory
mkdir -p root/bin root/dev root/tmp
for file in "$(type -P bash)" $(ldd "$(type -P bash)" | grep -oE '/[^ ]+'); do
  mkdir -p "root$(dirname "$file")" && cp -L "$file" "root$file"
done
mkfifo root/go
touch root/said
unshare -pfm chroot root "$(type -P bash)" -c 'exec 3<>/go; while read -r word <&3; do
  [[ $word == end ]] && exit; echo shell >>/said; done' >out 2>err &
outer2=$!
started $outer2
wait_for 30 pgrep -P $outer2
other=$(pgrep -P $outer2)
started "$other"
in_root() { [[ $(readlink "/proc/$other/root") == "$work/root" ]]; }
wait_for 30 in_root
exec 7<>root/go
"$patchbay" record -o r.dat -e 'read(int fd)' -p "$other" 2>said &
recorder=$!
started $recorder
wait_for 60 grep -q "Ctrl-C ends" said || fail "it does not begin: $(cat said)"
for i in 1 2 3 4 5; do
  echo word >&7
  has_answered() { (($(wc -l <root/said) == i)); }
  wait_for 60 has_answered || fail "the shell in the other root does not answer"
done
kill -INT $recorder
wait $recorder
same "record in another root" 0 $?
has "its events" "$("$patchbay" report r.dat)" "^ *bash-$other .*->read\(fd="
has "its number inside" "$("$patchbay" report --processes r.dat)" "^ *$other .*\(inside 1\)$"

# --- a root and mounts of its own: names, types and lines are those of its files, whatever lies
# at their paths here. The program goes before the recording does, and its file before it.
if command -v gcc >/dev/null; then
  mkdir -p box/proc box/old "box$work"
  cat >inside.c <<'EOS'
#include <unistd.h>
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE1(provider, name, a) (void)(a)
#endif
__attribute__((noinline)) int step(int n) {
  DTRACE_PROBE1(boxed, stepped, n);
  return n + getppid();
}
__attribute__((noinline)) int work(int n, const char* tag) {
  return step(n * 2) + tag[0];
}
int main(void) {
  char c;
  while (read(0, &c, 1) == 1 && write(1, &c, work(7, "hey") ? 1 : 1) == 1) {}
}
EOS
  sed 's/work(int n, const char\* tag)/work(double zebra, const char* lion)/
    s/step(n \* 2)/step(2)/; s/tag\[0\]/lion[0]/' inside.c >decoy.c
  gcc -g -O1 -fno-ipa-cp inside.c -o "box$work/boxed" && gcc -g -O1 decoy.c -o boxed || fail "gcc"
  for file in $(ldd "box$work/boxed" | grep -oE '/[^ ]+'); do
    mkdir -p "box$(dirname "$file")" && cp -L "$file" "box$file"
  done
  mkfifo to_box from_box
  unshare -pfm bash -c 'mount --bind box box && mount -t proc proc box/proc && cd box &&
    pivot_root . old && exec "$0"' "$work/boxed" <to_box >from_box 2>err &
  outer3=$!
  started $outer3
  exec 8>to_box 9<from_box
  wait_for 30 pgrep -P $outer3
  boxed=$(pgrep -P $outer3)
  started "$boxed"
  is_in_box() { [[ $(readlink "/proc/$boxed/exe") == "$work/boxed" ]]; }
  wait_for 30 is_in_box || fail "it is not in the box: $(cat err)"
  call() { echo -n x >&8 && read -r -n 1 -t 30 <&9; }
  record_box() { # FILE OPTIONS… : of one call
    "$patchbay" record -o "$1" -p "$boxed" "${@:2}" 2>said &
    recorder=$!
    started $recorder
    wait_for 60 grep -q "Ctrl-C ends" said || fail "it does not begin: $(cat said)"
    call || fail "no answer from the box"
  }
  end_recording() { kill -INT $recorder; wait $recorder || fail "record: $(cat said)"; }
  record_box w.dat -e 'work(*)' -e 'work:1 n'
  end_recording
  has "its types and its caller" "$("$patchbay" report w.dat)" 'main->work\(n=7, tag=hey\)'
  has "its lines" "$("$patchbay" report w.dat)" ' work_L1: \(work\+0x[0-9a-f]+/.*\) n=7'
  record_box g.dat -t function_graph -O funcgraph-args -l work -l step
  end_recording
  has "arguments of its calls" "$("$patchbay" replay -i g.dat)" 'work\(n=7, tag=0x'
  has "its flame graph" "$("$patchbay" export --to folded -i g.dat -o -)" '^work;step [0-9]+$'
  "$patchbay" view -i g.dat -o g.html >out 2>err
  same "its page" 0 $?
  if [[ -e /usr/include/sys/sdt.h ]]; then
    record_box u.dat -e sdt_boxed:stepped
    end_recording
    has "its USDT probes" "$("$patchbay" report u.dat)" ': stepped: .*arg1=(0x)?e'
  fi
  for what in "calls -e work" "latency work" "hist work keys=n" "top -l work"; do
    # shellcheck disable=SC2086  # several words
    "$patchbay" $what -p "$boxed" -o measured 2>said &
    measurer=$!
    started $measurer
    is_placed() { "$patchbay" cat "$boxed" debug/call_sites 2>/dev/null | grep -q ' work '; }
    wait_for 60 is_placed || fail "$what does not begin: $(cat said)"
    call || fail "no answer from the box"
    kill -INT $measurer
    wait $measurer
    same "$what" 0 $?
  done
  "$patchbay" detach "$boxed" >out 2>err
  record_box e.dat -t function_graph -l work -l step
  rm "box$work/boxed"
  kill -9 "$boxed"
  wait $recorder
  has "its names, when it is gone" "$("$patchbay" replay -i e.dat)" ' \| +step\(\);$'
else
  echo "SKIPPED: container.sh: gcc is not installed: debug information was not tested"
fi

# --- a root without /proc: nobody but the kernel's note says which program it is
if command -v gcc >/dev/null; then
  gcc -g -O1 -fno-ipa-cp inside.c -o "box$work/rooted" || fail "gcc"
  umount box/proc 2>/dev/null
  mkfifo to_root from_root
  chroot box "$work/rooted" <to_root >from_root 2>err &
  rooted=$!
  started $rooted
  exec 3>to_root 4<from_root
  is_rooted() { [[ $(readlink "/proc/$rooted/exe") == "$work/box$work/rooted" ]]; }
  wait_for 30 is_rooted || fail "it is not in its root: $(cat err)"
  "$patchbay" record -o n.dat -p "$rooted" -e work -t function -l step 2>said &
  recorder=$!
  started $recorder
  wait_for 60 grep -q "Ctrl-C ends" said || fail "it does not begin: $(cat said)"
  echo -n x >&3 && read -r -n 1 -t 30 <&4 || fail "no answer from the root"
  kill -INT $recorder
  wait $recorder
  same "record in a root without /proc" 0 $?
  has "its function, types and caller" "$("$patchbay" report n.dat)" 'main->work\(n=7, tag=hey\)'
  has "its tracer" "$("$patchbay" report n.dat)" ' step <-work$'
  exec 3>&- 4<&-
  wait $rooted
  same "it has ended well" 0 $?
fi

# --- a container by its control group
id=$(printf 'c0ffee%058d' $$)
for top in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/pids; do
  [[ -e $top/cgroup.procs ]] && mkdir "$top/docker-$id.scope" 2>/dev/null &&
    group=$top/docker-$id.scope && break
done
if [[ ! ${group:-} ]]; then
  echo "SKIPPED: container.sh: no control group can be made here: --container was not tested"
else
  leave_group() {
    cat "$group/cgroup.procs" 2>/dev/null | while read -r one; do kill -9 "$one" 2>/dev/null; done
    wait_for 20 rmdir "$group"
    cleanup
  }
  trap leave_group EXIT
  for one in "$pid" "$other"; do echo "$one" >"$group/cgroup.procs"; done
  record_for g.dat --container "c0ffee"
  same "all of the container are in the file" "$pid $other" \
    "$("$patchbay" report --processes g.dat | awk -v a="$pid" -v b="$other" \
      '($1 == a || $1 == b) && /\(inside 1\)$/ { print $1 }' | sort -n | xargs)"
  record_for p.dat --container "$pid"
  has "a process of it names it" "$("$patchbay" report p.dat)" "^ *bash-$pid .*->read\(fd="
fi
echo end >&5
echo end >&7
finish
