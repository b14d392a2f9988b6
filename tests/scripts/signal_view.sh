#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of tests/programs/signal_view: what they print and how they end is the
# same alone, with the agent and nothing traced, recorded from the start, and attached to. No call
# of the agent's goes to a function that a program exports.
#   signal_view.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need cc nm
guests=$here/../programs/signal_view
cd "$work" || exit 1

# events_for GUEST : sets `events`, as options of record.
events_for() {
  local event
  events=()
  while read -r event; do events+=(-e "$event"); done < <(sed -n 's|^// events: ||p' \
    "$guests/$1.c")
}
ran() { timeout -k 5 60 "$@" 2>&1 </dev/null; echo "status $?"; }
# attached GUEST OPTION… : it waits for a line, which it gets when its first event is on.
attached() {
  local name=$1 function=${3#p:}
  shift
  mkfifo "$name.in"
  "./$name" wait <"$name.in" >"$name.out" 2>&1 &
  local pid=$!
  started $pid
  exec 5>"$name.in"
  wait_for 20 test "/proc/$pid/exe" -ef "./$name" || fail "$name does not begin"
  timeout -k 5 60 "$patchbay" record -q -o "$name.dat" -p "$pid" "$@" \
    >"$name.log" 2>&1 5>&- &
  local recorder=$!
  started $recorder
  is_on() { "$patchbay" cat "$pid" enabled_functions | grep -q "^${function%%(*} "; }
  wait_for 20 is_on || fail "$name: nothing is recorded: $(cat "$name.log")"
  echo >&5
  wait $pid
  echo "status $?" >>"$name.out"
  exec 5>&-
  wait $recorder
  rm "$name.in"
}

for name in signal_doors libc_threads exec_inherits registers_rseq; do
  # shellcheck disable=SC2046  # the command of a comment
  (cd "$guests" && $(sed -n 's|^// build: ||p' $name.c) -w -o "$work/$name") || skip "$name"
  events_for $name
  plain=$(ran "./$name")
  has "$name says what is right" "$plain" '^status 0$'
  same "$name with the agent alone" "$plain" "$(ran env LD_PRELOAD="$agent" "./$name")"
  same "$name recorded" "$plain" \
    "$(ran "$patchbay" record -q --no-follow -o $name.dat "${events[@]}" -- "./$name")"
  same "$name followed" "$plain" \
    "$(ran "$patchbay" record -q -o $name.dat "${events[@]}" -- "./$name")"
  attached $name "${events[@]}"
  same "$name attached to" "$plain" "$(cat $name.out)"
done

# Threads that libc has registered no area for restartable sequences for write the CPUs' rings all
# the same, not the last one, which has a lock.
ran env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$patchbay" record -q --no-follow -o rings.dat \
  -e 'work(int n)' -- ./exec_inherits >rings.log
same "all are there" 2000 "$(count_of rings.dat work)"
same "none is in the ring of threads without rseq" 0 "$(events_of rings.dat |
  awk -v cpus="$(getconf _NPROCESSORS_CONF)" 'match($0, /\[[0-9]+\]/) {
    if (substr($0, RSTART + 1, RLENGTH - 2) + 0 >= cpus) n++ } END { print n + 0 }')"

# A library of the program has made a thread before the agent comes, and this stands in an entry of
# libc that is to be written.
cat >early.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int (*ask)(int, const struct sigaction*, struct sigaction*);
static volatile int begins, result;
static void* run(void* unused) {
  begins = 1;
#ifdef NO_TRAP
  while (!result) usleep(1000);
  return unused;
#endif
  __asm__ volatile("mov %1, %%r15\n int3\n call *%%r15"
                   : "=a"(result)
                   : "r"(ask), "D"(0), "S"(0), "d"(0)
                   : "rcx", "r8", "r9", "r10", "r11", "r15", "memory", "cc");
  return unused;
}
static pthread_t thread;
__attribute__((constructor)) static void begin(void) {
  ask = dlsym(dlopen("libc.so.6", RTLD_LAZY), "sigaction");
  pthread_create(&thread, 0, run, 0);
  while (!begins) usleep(1000);
  usleep(1000);
}
int is_wrong(void) {
  kill(getpid(), SIGCONT);
#ifdef NO_TRAP
  result = -1;
#endif
  pthread_join(thread, 0);
  return result != -1;
}
END
cat >early_main.c <<'END'
#include <unistd.h>
int is_wrong(void);
int main(int argc, char** argv) {
  return argc > 1 ? is_wrong() : (execl(argv[0], argv[0], "again", (char*)0), 9);
}
END
cc -O1 -w "$guests/held_in_entry.c" -o held_in_entry && cc -O1 -w -shared -fPIC early.c \
  -o libearly.so -ldl -lpthread && cc -O1 -w early_main.c -o early -L. -learly \
  -Wl,-rpath,"$work" || fail "early.c does not build"
same "a thread in an entry: alone" "status 0" "$(ran ./held_in_entry ./early again | tail -n 1)"
same "a thread in an entry that is written" "status 0" \
  "$(ran ./held_in_entry env LD_PRELOAD="$agent" ./early again | tail -n 1)"
cc -O1 -w -DNO_TRAP -shared -fPIC early.c -o libearly.so -ldl -lpthread
"$patchbay" record -o t.dat -e 'is_wrong()' -- ./early >early.log 2>&1
has "what such a program executes is followed" "$(<early.log)" 'record: 1 events'

# A second C library is left alone, and named.
cat >namespace.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void) { return !dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW) || work(1) != 2; }
END
cc -O1 -w namespace.c -o namespace -ldl || fail "namespace.c does not build"
has "a second C library is named" \
  "$("$patchbay" record -q --no-follow -o t.dat -e 'work(int n)' -- ./namespace 2>&1; echo $?)" \
  'second C library'
same "and is not there without one" "" \
  "$("$patchbay" record -q --no-follow -o t.dat -e 'calls()' -- ./exec_inherits 2>&1 | grep second)"

# Where the entry of syscall() cannot be replaced threads have no area of ours.
(cd "$guests" && cc -O2 -w detoured_syscall.c -o "$work/detoured_syscall") ||
  fail "detoured_syscall"
attached detoured_syscall -e 'work(int n)'
same "syscall() is another's: attached to" "$(printf 'right\nstatus 0')" "$(<detoured_syscall.out)"
same "and all are there" 1000 "$(count_of detoured_syscall.dat work)"

# Nor does a child on its parent's storage take the parent's area: what the parent does afterwards
# would go to the ring of the child's CPU, under the child's number.
(cd "$guests" && cc -O2 -w clone_first.c -lpthread -o "$work/clone_first") || fail "clone_first"
for tunables in "" glibc.pthread.rseq=0; do
  ran env GLIBC_TUNABLES=$tunables "$patchbay" record -q --no-follow -o clone.dat \
    -e 'work(int n)' -- ./clone_first >clone.log
  same "all of the child and its parent are there, '$tunables'" 110 "$(count_of clone.dat work)"
  same "the parent's have its number and its CPU, '$tunables'" \
    "$(sed -n 's/^parent //p' clone.log)" \
    "$(events_of clone.dat | grep -v 'n=1000' |
      sed -nE 's/.*-([0-9]+) +\[0*([0-9]+)\].*/\1 \2/p' | sort -u)"
done

# Not data, and nothing that returns twice.
but='__environ|environ|stderr|_r_debug|__tls_get_addr|__cxa_finalize|v?fork|([gs]et|swap)context'
# Every function that the agent needs of others, as one that the program exports: it counts calls
# from the agent's code, and goes on to libc's.
{
  nm -D --undefined-only "$agent" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }'
  nm -D --defined-only "$agent" | awk '$2 == "T" && $3 !~ /^(patchbay_|_)|@/ { print $3 }'
} | grep -vxE "$but" | sort -u | sed 's/.*/NAME(&)/' >names.inc
check "the agent needs functions" test "$(wc -l <names.inc)" -gt 100
cc -O1 -w -I"$work" "$guests/own_names.c" -rdynamic -o own_names -ldl -lpthread ||
  fail "own_names does not build"
same "no name is another's" "status 0" "$(ran ./own_names | tail -n 1)"
out=$(ran env LD_PRELOAD="$agent" ./own_names)
same "the agent alone calls no function of the program's" \
  "$(printf 'calls of the agent:\nstatus 0')" "$out"
same "nor while it records" "$(printf 'calls of the agent:\nstatus 0')" \
  "$(ran "$patchbay" record -q -o own.dat -e 'work(int n)' -- ./own_names)"
same "and counts are right" 1000 "$(count_of own.dat work)"
attached own_names -e 'work(int n)'
same "nor attached to" "$(printf 'calls of the agent:\nstatus 0')" "$(cat own_names.out)"
finish
