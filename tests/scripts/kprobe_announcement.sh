#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The session of the kprobe-based event tracer's announcement, in user space: a probe with the four
# arguments of libc's open family and a return probe on it; then the same as one writes it today.
#
#   echo p:myprobe do_sys_open a0 a1 a2 a3 > /sys/kernel/debug/tracing/kprobe_events
#   echo r:myretprobe do_sys_open rv ra >> /sys/kernel/debug/tracing/kprobe_events
#
#   <...>-1447 [001] 1038282.286885: do_sys_open+0x0/0xd6: 0xffffff9c 0x40413c 0x8000 0x1b6
#   <...>-1447 [001] 1038282.286915: sys_open+0x1b/0x1d <- do_sys_open: 0x3 0xffffffff81367a3a
. "$(dirname "$0")/common.bash"
need gcc nm
cat >"$work/opener.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static int sys_open(const char* path) {
  int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0666);
  __asm__ volatile("" ::: "memory");
  return fd;
}
int main(void) {
  getchar();
  for (int i = 0; i < 3; i++) {
    int fd = sys_open(i == 1 ? "/nonexistent" : "/etc/hostname");
    printf("%d\n", fd);
    if (fd >= 0) close(fd);
  }
  fflush(stdout);
  getchar();
  return 0;
}
C
gcc -O1 -g -o "$work/opener" "$work/opener.c" || fail "gcc"
mkfifo "$work/in"
LD_PRELOAD=$agent "$work/opener" <"$work/in" >"$work/out" &
pid=$!
started $pid
exec 3>"$work/in"
wait_for 20 "$patchbay" ls $pid

tracefs_write() { "$patchbay" write "$@"; }
# As it was written then.
check "p:myprobe, as it was" tracefs_write --truncate $pid kprobe_events \
  'p:seedprobe libc:openat a0 a1 a2 a3'
check "r:myretprobe, as it was" tracefs_write $pid kprobe_events \
  'r:seedret libc:openat rv ra ra:symbol'
check "p:myprobe" tracefs_write $pid kprobe_events \
  'p:myprobe libc:openat a0=a0:s32 a1=a1 a2=%dx:x32 a3=%cx:x32'
check "r:myretprobe" tracefs_write $pid kprobe_events 'r:myretprobe libc:openat rv=rv:s32'
# An offset below zero: the first instruction of what lies before main is so far before it.
address_of() { nm "$work/opener" | awk -v name="$1" '$3 == name { print $1 }'; }
before=$(address_of sys_open) main=$(address_of main)
distance=$((16#$before - 16#$main))
name=main
((distance < 0)) || { name=sys_open; distance=$((-distance)); }
check "SYM-offset" tracefs_write $pid kprobe_events "p:before $name$distance"
check "SYM-offset goes" tracefs_write $pid kprobe_events '-:before'
out=$(tracefs_write $pid kprobe_events 'p main-1048576' 2>&1)
has "SYM-offset of nothing" "$out" 'probed address or symbol: there is no code so far before'
# As it is written today.
check "p:opening" tracefs_write $pid kprobe_events \
  'p:opening libc:openat dfd=$arg1:s32 path=+0($arg2):string flags=$arg3:x32 mode=$arg4:x32'
check "f:opened %return with the entry's argument" tracefs_write $pid dynamic_events \
  'f:opened libc:openat%return path=+0($arg2):string fd=$retval:s32'
same "the lines are listed as they were written" \
  "p:kprobes/seedprobe libc:openat arg1=a0 arg2=a1 arg3=a2 arg4=a3
r:kprobes/seedret libc:openat arg1=rv arg2=ra arg3=ra:symbol
p:kprobes/myprobe libc:openat a0=a0:s32 a1=a1 a2=%dx:x32 a3=%cx:x32
r:kprobes/myretprobe libc:openat rv=rv:s32
p:kprobes/opening libc:openat dfd=\$arg1:s32 path=+0(\$arg2):string flags=\$arg3:x32 \
mode=\$arg4:x32" \
  "$("$patchbay" cat $pid kprobe_events)"
check "enable" tracefs_write $pid events/kprobes/enable 1
check "enable the exit probe" tracefs_write $pid events/fprobes/enable 1
echo >&3
wait_for 10 grep -c . "$work/out"
sleep 0.2
trace=$("$patchbay" cat $pid trace)
grep -E 'myprobe|myretprobe|opening|opened' <<<"$trace"
has "the first call's arguments" "$trace" \
  'myprobe: \(openat[a-z0-9_]*\+0x0/0x[0-9a-f]+\) a0=-100 a1=0x[0-9a-f]+ a2=0x80000 a3=0x'
has "the seed's own line" "$trace" \
  'seedprobe: \(openat[a-z0-9_]*\+0x0/[^)]*\) arg1=0x[0-9a-f]*ffffff9c arg2=0x.* arg3=0x80000 '
has "the seed's return" "$trace" \
  'seedret: \(sys_open\+0x[^)]* <- openat[a-z0-9_]*\) arg1=0x.* arg2=0x.* arg3=sys_open\+0x'
has "its return" "$trace" \
  'myretprobe: \(sys_open\+0x[0-9a-f]+/0x[0-9a-f]+ <- openat[a-z0-9_]*\) rv=[0-9]+'
has "the failing one" "$trace" 'myretprobe: .* rv=-1'
has "today's form" "$trace" 'opening: .* dfd=-100 path="/etc/hostname" flags=0x80000'
has "the entry's argument at the return" "$trace" 'opened: .* path="/nonexistent" fd=-1'
profile=$("$patchbay" cat $pid kprobe_profile)
has "three hits, no miss" "$profile" '^  myprobe +3 +0$'
has "three returns, no miss" "$profile" '^  myretprobe +3 +0$'
out=$(tracefs_write $pid kprobe_events 'p:bad libc:openat+1' 2>&1)
has "the middle of an instruction is refused" "$out" 'not an instruction boundary'
has "and says so in error_log" "$("$patchbay" cat $pid error_log)" \
  'trace_kprobe: error: Probe point is not an instruction boundary'
out=$(tracefs_write --truncate $pid kprobe_events '' 2>&1)
has "probes in use stay" "$out" 'busy|in use|enabled'
check "disable" tracefs_write $pid events/enable 0
check "clear" tracefs_write --truncate $pid dynamic_events ''
same "nothing is left" "" "$("$patchbay" cat $pid dynamic_events)"
same "the returns are what the program got" "$(cat "$work/out")" \
  "$(sed -n 's/.*myretprobe: .* rv=//p' <<<"$trace")"
same "of three calls" 3 "$(wc -l <"$work/out")"
exec 3>&-
wait $pid
same "and ended well" 0 $?

# The same by record and report: a file has the names of its places.
"$patchbay" record -o "$work/open.dat" -e 'p:myprobe libc:openat a1=+0(%si):string' \
  -e 'r:myretprobe libc:openat rv=$retval:s32' -- "$work/opener" </dev/null >/dev/null 2>&1
report=$("$patchbay" report -i "$work/open.dat" 2>/dev/null)
has "the report names the place" "$report" 'myprobe: \(openat\+0x0/0x[0-9a-f]+\) a1="/etc/hostname"'
has "and the caller" "$report" 'myretprobe: \(sys_open\+0x[0-9a-f]+/0x[0-9a-f]+ <- openat\) rv='
finish
