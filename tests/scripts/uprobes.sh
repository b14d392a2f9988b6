#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that cannot take the agent are recorded by the kernel's uprobes: what is recorded is what
# they have done, to the event and the letter; and the kernel's tracefs is as it was afterwards,
# also when the tool was killed.
. "$(dirname "$0")/common.bash"
cc=${CC:-cc}
command -v "$cc" >/dev/null || skip "there is no compiler"
[[ $(id -u) == 0 ]] || skip "uprobes need root"
mkdir "$work/tracefs"
mount -t tracefs none "$work/tracefs" 2>/dev/null || skip "tracefs cannot be mounted here"
trap 'umount "$work/tracefs"; cleanup' EXIT
tracefs=$work/tracefs
[[ -e $tracefs/uprobe_events ]] || skip "this kernel has no uprobes"
cd "$work" || exit 1

cat >calls.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
struct box { int a, b; const char *name; long list[4]; };
int counter = 41;
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE int work(int n, const char *name) {
  __asm__ volatile("" ::"r"(name) : "memory");
  return n * 2 + (int)strlen(name);
}
NOINLINE int look(struct box *b, unsigned char c) {
  __asm__ volatile("" ::"r"(b), "r"(c) : "memory");
  return b ? b->b + c : 0;
}
NOINLINE int caller(int n) {
  char text[64];
  for (int i = 0; i < n; i++) {
    snprintf(text, sizeof text, "text %d", i);
    counter += work(i - 1, text);
  }
  return counter;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  struct box b = {1, -7, "a box", {10, 20, 30, 40}};
  char go, last[600];
  memset(last, 'x', sizeof last - 1);
  last[sizeof last - 1] = 0;
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "wait")) {
      if (write(1, "ready\n", 6) != 6 || read(0, &go, 1) < 0) return 9;
    }
    if (!strcmp(argv[i], "fork"))
      for (int child = 0; child < 3; child++) {
        if (!fork()) _exit(caller(10 + child) ? 0 : 1);
        wait(0);
      }
  }
  int sum = caller(n) + look(&b, 200) + look(0, 3);
  b.name = last;
  sum += look(&b, 1);
  return sum & 1 ? 4 : 3;
}
END
"$cc" -O1 -g -static calls.c -o static || skip "static programs cannot be linked here"
"$cc" -O1 -g -static-pie calls.c -o static_pie
"$cc" -O1 -g calls.c -o dynamic

record=("$patchbay" record -o out.dat)
# lines [FILE] : events without thread and time.
lines() {
  "$patchbay" report -i "${1:-out.dat}" |
    sed -nE 's/^ *([^ ]*)-[0-9]+ +\[[0-9]+\] [^ ]+ +[0-9.]+: /\1: /p'
}
# Whatever was made for this script is gone: its events name its folder, its instances their tools.
nothing_left() {
  local name
  same "$1: no event is left" "" "$(grep -F "$work/" "$tracefs/uprobe_events" | grep -v ":own_")"
  for name in "$tracefs"/instances/patchbay_*; do
    [[ -d $name && ! -e /proc/${name##*_} ]] || continue  # another test's, which runs beside
    flock -n "$name" true && fail "$1: the instance $name is left"
  done
}

# --- what is recorded
expected() {
  local i
  for ((i = 0; i < $1; i++)); do echo "${2-}: caller->work(n=$((i - 1)), name=text $i)"; done
}
for program in static static_pie; do
  out=$("${record[@]}" -e 'work(int n, string name)' -- ./$program 1000 2>&1)
  same "$program: its exit status" 3 $?
  has "$program: what it costs" "$out" \
    "^patchbay: ./$program cannot .* \(statically linked\): .* uprobes .* 1 to 10 us an event$"
  has "$program: the summary" "$out" "1000 events, .*; lost 0 \("
  same "$program: each call, with its text" "$(expected 1000 $program)" "$(lines)"
  nothing_left $program
done
same "-q is quiet" "" "$("${record[@]}" -q -e 'work(int n)' -- ./static 5 2>&1)"

# --- the same lines as the agent's
events=(-e 'work(int n, string name)' -e 'look(int a[0] | int b+4[0], u8 c)' -e 'named=caller(NULL)'
  -e 'look2=look(long l+16[2] | string name+8[0][0] | u8[16] raw+16, NULL)'
  -e 'p:here look+0 n=%si:u8 s=+0(+8(%di)):string l=+16(%di):s64[4] cnt=@counter:s32'
  -e 'p:bits work b=%di:b4@2/32 s=+0($arg2):string/3' -e 'r:ret work $retval:s32')
"${record[@]}" -q "${events[@]}" -- ./dynamic 20
same "with the agent: the exit status" 3 $?
agent=$(lines)
"${record[@]}" -q --uprobes "${events[@]}" -- ./dynamic 20
same "uprobes: the exit status" 3 $?
same "lines of the agent and of uprobes" "$agent" "$(lines)"
"${record[@]}" -q -e 'work(int n, string name)' -f 'n > 7 && name ~ "*5"' -- ./static 30
same "a filter" "$(expected 30 static | grep 5\)$ | tail -n 2)" "$(lines)"
"${record[@]}" -q -e 'work(*)' -e 'p:both work n=$arg1:s32 m=%si:x64 c=$comm' -- ./static 3
same "FUNC(*), by debug information" 3 "$(lines | grep -c 'caller->work(n=')"
same "a thread's name" 3 "$(lines | grep -c 'c="static"')"

# --- processes
"${record[@]}" -e 'work(int n, string name)' -- ./static 5 fork 2>/dev/null
same "forked children are recorded" "$(expected 10; expected 11; expected 12; expected 5)" \
  "$(lines | sed 's/^static//')"

mkfifo in
# start_waiting PROGRAM ARG… : it waits for a byte of descriptor 3. Sets pid.
start_waiting() {
  "$@" wait <in >ready &
  pid=$!
  started $pid
  exec 3>in
  wait_for 60 grep -q ready ready || fail "$1 does not wait"
}
# is_on INSTANCE : somebody is recorded in it.
is_on() { grep -q . "$1/set_event_pid" && grep -q 1 "$1/tracing_on"; }
# start_recorder ARG… : sets tool; returns when it records.
start_recorder() {
  "$patchbay" record -o live.dat "$@" 2>live.err &
  tool=$!
  started $tool
  wait_for 60 is_on "$tracefs/instances/patchbay_$tool" ||
    fail "the recorder does not record: $(cat live.err)"
}
start_waiting ./static 50
start_recorder -p $pid -e 'work(int n, string name)'
./static 10 # another process of the same file
echo >&3
wait $pid
wait $tool
same "record -p: its status" 0 $?
same "record -p: this process alone" "$(expected 50 static)" "$(lines live.dat)"
has "record -p: its end is said" "$(cat live.err)" "process $pid has ended"
nothing_left "record -p"

start_waiting ./static 50
start_recorder -p $pid -e 'work(int n, string name)'
kill -INT $tool
wait $tool
same "Ctrl-C: the status" 0 $?
has "Ctrl-C: it goes on" "$(cat live.err)" "recording has stopped; process $pid goes on"
nothing_left "Ctrl-C"
start_recorder -p $pid -e 'work(int n, string name)'
kill -9 $pid
wait $pid 2>/dev/null
wait $tool
same "a killed target: the status" 0 $?
has "a killed target: its end is said" "$(cat live.err)" "process $pid has ended"
nothing_left "a killed target"

# --- a file that is gone, a path with blanks, another root
# by_pid PID SENTENCE NAME : the program that waits is recorded, three calls of it.
by_pid() {
  start_recorder -p "$1" -e 'work(int n, string name)'
  echo >&3
  wait $tool
  same "$2" "$(expected 3 "$3")" "$(lines live.dat)"
}
cp static gone
start_waiting ./gone 3
rm gone
by_pid $pid "a file that is gone" gone
wait $pid
mkdir "a b"
cp static "a b/c:%1"
"${record[@]}" -q -e 'work(int n, string name)' -- "./a b/c:%1" 3
same "a path with blanks" "$(expected 3 "c:%1")" "$(lines)"
mkdir other_root
cp static other_root/inside
start_waiting chroot other_root /inside 3
by_pid $pid "another root" inside
wait $pid

# --- a tool that is killed, beside somebody's own events
echo "p:own_$$/own_work $work/static_pie:0x1000" >>"$tracefs/uprobe_events"
start_waiting ./static 50
start_recorder -p $pid -e 'work(int n, string name)'
kill -9 $tool
wait $tool 2>/dev/null
check "a killed tool leaves its events" grep -q "patchbay_$tool/work" "$tracefs/uprobe_events"
"${record[@]}" -q -e 'work(int n, string name)' -- ./static 7
same "the next run records" 7 "$(lines | wc -l)"
check "what it has left is gone" test ! -e "$tracefs/instances/patchbay_$tool"
nothing_left "a killed tool"
same "others' events stay" 1 "$(grep -c "own_$$/own_work" "$tracefs/uprobe_events")"
echo "-:own_$$/own_work" >>"$tracefs/uprobe_events"
echo >&3
wait $pid
same "the program never knew" 3 $?

# --- losses are counted: the tool stands still, and the buffer is small
start_waiting ./static 20000
start_recorder -p $pid -b 64K -e 'work(int n, string name)'
kill -STOP $tool
echo >&3
wait $pid
kill -CONT $tool
wait $tool
lost=$(summary_lost live.err)
check "some are lost" test "${lost:-0}" -gt 0
same "each is counted" 20000 $((lost + $(summary_events live.err)))
same "those in the file are what is said" "$(summary_events live.err)" "$(lines live.dat | wc -l)"

# --- a name alone: as elsewhere, its arguments are known from debug information, if there is any
"${record[@]}" -e work -o named.dat -- ./static 5 >/dev/null 2>named.err
has "a name" "$(events_of named.dat)" 'work\(n=-1, name="?text 0'
strip -g -o bare static
"${record[@]}" -e work -o named.dat -- ./bare 5 >/dev/null 2>named.err
same "a name of which nothing is known" 5 "$(count_of named.dat work)"
has "is said" "$(cat named.err)" "arguments of work\\(\\) are not known here; name them: -e 'work"

# --- refusals: a sentence, and the program does not run
# refused PATTERN ARG… -- PROGRAM
refused() {
  local pattern=$1 out
  shift
  out=$("${record[@]}" "$@" 2>&1)
  same "refused ($*)" 1 $?
  has "why ($*)" "$out" "$pattern"
}
static_work=(-- ./static 5)
refused 'do not read vector registers' -e 'work(int n, double d)' "${static_work[@]}"
refused '^ *\^$' -e 'work(int n, double d)' "${static_work[@]}"
refused 'There is no function|no function' -e 'wrok(int n)' "${static_work[@]}"
refused '-t function_graph patches every function' -t function_graph "${static_work[@]}"
refused 'statically linked: the agent cannot' --no-uprobes -e 'work(int n)' "${static_work[@]}"
refused 'events that a program brings' -e 'sched:tick' "${static_work[@]}"
refused 'globs are for the agent' -e 'wor*' "${static_work[@]}"
if unshare --pid --fork --mount-proc true 2>/dev/null; then
  out=$(unshare --pid --fork --mount-proc "${record[@]}" -e 'work(int n)' -- ./static 5 2>&1)
  same "refused in a pid namespace, whose numbers are not the kernel's" 1 $?
  has "why" "$out" 'number on the host.*from outside, with record --uprobes -p PID'
fi
refused "-B .* is the agent's" -B other -e 'work(int n)' "${static_work[@]}"
refused 'globs are for the agent' -e 'f:x wor* a=$arg1' "${static_work[@]}"
refused 'Field not found|field' -e 'work(int n)' -f 'm > 3' "${static_work[@]}"
refused 'CPU and COMM are known to the agent' -e 'work(int n)' -f 'COMM == "x"' "${static_work[@]}"
if command -v setpriv >/dev/null; then
  chmod 755 .
  mkdir -m 777 others
  out=$(cd others && PATCHBAY_DIR=$work/others setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$patchbay" record -e 'work(int n)' -- ../static 5 2>&1)
  same "without rights: the status" 1 $?
  has "without rights: why" "$out" "uprobes need root"
fi
nothing_left "refusals"

# --- other kinds of programs
if command -v musl-gcc >/dev/null && musl-gcc -O1 -g calls.c -o musl; then
  out=$("${record[@]}" -e 'work(int n, string name)' -e 'p:l snprintf n=$arg2:u64' -- ./musl 9 2>&1)
  has "musl" "$out" "cannot take the agent \(linked with musl\)"
  same "musl: each call" "$(expected 9 musl)" "$(lines | grep work)"
  same "musl: its libc's functions" 9 "$(lines | grep -c 'l: (snprintf+0x0/0x.*) n=64')"
else
  echo "uprobes.sh: musl-gcc is not installed: musl is SKIPPED"
fi
cat >thirty_two.c <<'END'
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE int work(int n, long l) {
  __asm__ volatile("" ::: "memory");
  return n + (int)l;
}
NOINLINE int caller(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += work(i - 1, -5);
  return sum;
}
NOINLINE __attribute__((regparm(3))) int fast(const char *text, int n) {
  __asm__ volatile("" ::"r"(text) : "memory");
  return text[0] + n;
}
void _start(void) {
  int sum = caller(4) + fast("a text", 7);
  __asm__ volatile("int $0x80" ::"a"(1), "b"(sum & 1));
}
END
if "$cc" -m32 -O1 -nostdlib -static -fno-pie -no-pie thirty_two.c -o thirty_two 2>/dev/null; then
  "${record[@]}" -q -e 'work(int n, long l)' -e 'p:f fast n=%dx:s32 s=+0(%ax):string' \
    -- ./thirty_two
  same "32 bits" "$(for n in -1 0 1 2; do echo "thirty_two: caller->work(n=$n, l=-5)"; done
    echo 'thirty_two: f: (fast+0x0/0x)')" "$(lines | sed 's/\(0x0.0x\).*/\1)/')"
  has "32 bits: registers" "$(lines)" 'n=7 s="a text"'
  refused 'pointers of 64 bits, and this one has 32' -e 'work(string s)' -- ./thirty_two
else
  echo "uprobes.sh: cc -m32 does not work here: 32-bit programs are SKIPPED"
fi
cat >calls.go <<'END'
package main

import "os"
import "strconv"

//go:noinline
func work(n int, name string, ok bool) int {
  if ok {
    return n * 2
  }
  return n + len(name)
}

//go:noinline
func deep(n int, name string) int {
  var pad [300]byte
  pad[n%300] = byte(n)
  if n == 0 {
    return int(pad[3]) + len(name)
  }
  return deep(n-1, name) + int(pad[1])
}

type item struct {
  name string
  size int32
}

//go:noinline
func (i *item) grow(by int32) int32 { i.size += by; return i.size }

func main() {
  n, _ := strconv.Atoi(os.Args[1])
  sum := 0
  for i := 0; i < n; i++ {
    sum += work(i-1, "name "+strconv.Itoa(i), i%2 == 0)
  }
  done := make(chan int)
  for i := 0; i < 4; i++ {
    go func() { done <- deep(50, "literal") }()
  }
  for i := 0; i < 4; i++ {
    sum += <-done
  }
  it := item{"thing", 3}
  sum += int(it.grow(4))
  os.Exit(sum & 1)
}
END
export CGO_ENABLED=0 GO111MODULE=off GOCACHE=$work/go
if command -v go >/dev/null && go build -o calls_go calls.go; then
  out=$("${record[@]}" -e 'main.work(int n, string name, u8 ok)' \
    -e 'main.deep(int n, string name)' \
    -e 'p:grow main.(*item).grow size=+16(%ax):s32 by=$arg2:s32' \
    -e 'grow2=main.(*item).grow(string name[0][0])' -- ./calls_go 100 2>&1)
  has "Go" "$out" "\(a Go program without libc\): .*; of Go functions only the entries"
  same "Go: each call" "$(for ((i = 0; i < 100; i++)); do
    echo "main.main->main.work(n=$((i - 1)), name=name $i, ok=$(((i + 1) % 2)))"
  done)" "$(lines | sed -n 's/^[^ ]*: //; /main.work/p')"
  # Its stack grows on the way, and then Go begins a function twice.
  same "Go: a call whose stack grows is one call" 204 \
    "$(lines | grep -c 'main.deep(n=[0-9]*, name=literal)')"
  has "Go: a text behind a pointer" "$(lines)" '->main.\(\*item\).grow\(name=thing\)$'
  has "Go: registers" "$(lines)" 'grow: \(main.\(\*item\).grow\+0x0/0x[0-9a-f]*\) size=3 by=4'
  refused 'the return of a Go function cannot be probed' -e 'r:x main.work' -- ./calls_go 1
  refused 'how Go does' -e 'main.work(*)' -- ./calls_go 1
else
  echo "uprobes.sh: go is not installed: Go is SKIPPED"
fi
# Places that somebody has patched: the kernel would run what the file has there.
cat >ring.c <<'END'
#include <unistd.h>
volatile long total;
__attribute__((noinline, noclone)) int work(int n) {
  total += n;
  total *= 3;
  return n * 2 + (int)total;
}
int main(void) {
  char go;
  long sum = 0;
  while (write(1, "ready\n", 6) == 6 && read(0, &go, 1) == 1)
    for (int i = 0; i < 100; i++) sum += work(i);
  return (int)(sum & 0);
}
END
"$cc" -O1 -g ring.c -o ring
mkfifo pipe
# begin_ring [NAME=VALUE] : sets ring, its process.
begin_ring() {
  env "$@" "$work/ring" <pipe >ring.out 2>&1 &
  ring=$!
  started $ring
  exec 7>pipe
  wait_for 30 grep -q ready ring.out || fail "ring does not begin: $(<ring.out)"
}
end_ring() {
  exec 7>&-
  wait $ring
  same "$1: the program ends as it would" 0 $?
}
# calls_recorded FILE : ends the recorder after 100 calls.
calls_recorded() {
  local before
  before=$(wc -l <ring.out)
  printf x >&7
  wait_for 30 bash -c '(($(wc -l <ring.out) > $1))' bash "$before" || fail "ring does not go on"
  kill -INT $recorder
  wait $recorder
  "$patchbay" report -i "$1" 2>/dev/null | grep -c 'work(n='
}
begin_ring LD_PRELOAD="$agent"
"$patchbay" record -q -o a.dat -p $ring -e 'work(int n)' 2>a.err &
recorder=$!
started $recorder
wait_for 30 bash -c '"$0" cat "$1" enabled_functions | grep -q "^work "' "$patchbay" $ring ||
  fail "the agent does not begin: $(<a.err)"
out=$("$patchbay" record -q --uprobes -o b.dat -e 'work(int n)' -- ./ring </dev/null 2>&1)
same "a place that the agent has patched is refused" 1 $?
has "… with the process and what to do" "$out" \
  "process $ring \(.*/ring\) has other code .* -p $ring, or"
calls_recorded a.dat >calls
same "the agent has each call" 100 "$(<calls)"
end_ring "with an agent"
begin_ring A=1
"$patchbay" record -q --uprobes -o b.dat -p $ring -e 'work(int n)' 2>b.err &
recorder=$!
started $recorder
wait_for 30 grep -q "/ring:" "$tracefs/uprobe_events" || fail "no uprobe: $(<b.err)"
out=$(timeout 60 "$patchbay" record -q -o c.dat -p $ring -e 'work(int n)' 2>&1)
has "the agent patches no place of a uprobe" "$out" 'cannot be traced: an int3'
calls_recorded b.dat >calls
same "the uprobe has each call" 100 "$(<calls)"
end_ring "with a uprobe"
nothing_left "at the end"
finish
