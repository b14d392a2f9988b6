#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# When a call was off the CPU: a program sleeps, waits for a mutex and computes, and knows from its
# thread's CPU clock how long it was on the CPU. graph and replay say the same within 1 % of the
# time of the call; and where switches are missing they say that they are not sure.
. "$(dirname "$0")/common.bash"
cc=${CC:-cc}
command -v "$cc" >/dev/null || skip "there is no compiler"
command -v python3 >/dev/null || skip "there is no python3"
[[ $(id -u) == 0 ]] || skip "kernel events need root"
cd "$work" || exit 1
"$patchbay" record -q -o try.dat -k sched:sched_switch -- true 2>try.err ||
  skip "sched:sched_switch cannot be recorded here: $(head -1 try.err)"

cat >spans.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static long ms;
static long ns_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
NOINLINE long wait_asleep(long n) {
  struct timespec t = {n / 1000, n % 1000 * 1000000};
  while (nanosleep(&t, &t)) continue;
  return n;
}
NOINLINE long wait_locked(long n) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return n;
}
NOINLINE long burn(long n) {
  const long end = ns_of(CLOCK_THREAD_CPUTIME_ID) + n * 1000000;
  volatile long sum = 0;
  while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 20000; i++) sum += i;
  return sum;
}
NOINLINE long mixed(long n) { return burn(n) + wait_asleep(n); }
/* Many events of the kernel, and a switch at the end. */
NOINLINE long flood(long n) {
  for (long i = 0; i < 1000 * n; i++) syscall(SYS_getppid);
  return wait_asleep(1);
}
static void *holder(void *none) {
  pthread_mutex_lock(&mutex);
  pthread_barrier_wait(&held);
  wait_asleep(ms);
  pthread_mutex_unlock(&mutex);
  return none;
}
static void say(const char *name, long (*call)(long)) {
  const long wall = ns_of(CLOCK_MONOTONIC), cpu = ns_of(CLOCK_THREAD_CPUTIME_ID);
  call(ms);
  const long on = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  printf("%s %ld %ld\n", name, ns_of(CLOCK_MONOTONIC) - wall, on);
}
int main(int argc, char **argv) {
  pthread_t thread;
  ms = atol(argv[1]);
  if (argc > 2 && !strcmp(argv[2], "flood")) return flood(ms) < 0;
  pthread_barrier_init(&held, 0, 2);
  wait_asleep(1); /* what the first calls cost is no part of what follows */
  say("wait_asleep", wait_asleep);
  say("burn", burn);
  say("mixed", mixed);
  pthread_create(&thread, 0, holder, 0);
  pthread_barrier_wait(&held);
  say("wait_locked", wait_locked);
  pthread_join(thread, 0);
  return 0;
}
END
"$cc" -O1 -g spans.c -o spans -lpthread || fail "spans.c does not compile"
functions=(-t function_graph -l 'wait_*' -l burn -l mixed -l flood -l main)

# compare : the program's own figures (own) beside those of graph.json, the calls of main. The
# functions that are right, without a mark, are written into right.
cat >compare.py <<'END'
import json, sys
tolerance = 0.01
lines = [json.loads(line) for line in open("graph.json")]
tree = {line["id"]: line for line in lines}
right = open("right", "a")
for line in open("own"):
    name, wall, on = line.split()
    wall, on = int(wall), int(on)
    found = [one for one in lines if one["function"] == name and one["max_ns"] > wall // 2
             and tree.get(one["parent"], {}).get("function") == "main"]
    if len(found) != 1:
        sys.exit(f"{name}: {len(found)} lines of graph")
    one = found[0]
    if name == "wait_asleep":  # two calls, the first one of a millisecond
        one["total_ns"], one["calls"] = one["max_ns"], 1
    off = (one["on_cpu_ns"] - on) / wall
    took = (one["total_ns"] - wall) / wall
    print(f"{name}: wall {wall/1e6:.3f} ms, on the CPU {on/1e6:.3f} ms; graph differs by "
          f"{100*took:.3f} %, {100*off:.3f} %, unsure {one['off_cpu_unsure']}")
    if abs(off) <= tolerance and abs(took) <= tolerance and not one["off_cpu_unsure"]:
        print(name, file=right)
    if one["on_cpu_ns"] + one["off_cpu_ns"] != one["total_ns"] and name != "wait_asleep":
        sys.exit(f"{name}: on and off the CPU are not the whole")
END
# What the host of a virtual machine took away is on no clock of the thread, and the kernel leaves
# out a switch now and then (the call has its mark), more often where it chooses the tasks. So all
# tasks are recorded, and each function has to be right in one of many runs, without a mark.
: >right
for run in {1..20}; do
  "$patchbay" record -q -o spans.dat -b 8M "${functions[@]}" -k sched:sched_switch --all-tasks -- \
    ./spans $((150 + 10 * run)) >own 2>err || fail "record: $(cat err)"
  "$patchbay" graph -i spans.dat --json >graph.json 2>graph.err || fail "graph: $(cat graph.err)"
  python3 compare.py 2>&1
  right=$(sort -u right)
  [[ $(wc -l <<<"$right") == 4 ]] && break
done
same "on and off the CPU within 1 %" "$(printf '%s\n' burn mixed wait_asleep wait_locked)" "$right"

# --- the columns, and the marks of replay
text=$("$patchbay" graph -i spans.dat)
has "a column of graph" "$text" '^#   TOTAL        SELF       ON-CPU       CALLS'
tid=$("$patchbay" replay -i spans.dat --json |
  sed -nE 's/.*"kind": "begin".*"tid": ([0-9]+).*"function": "main".*/\1/p')
"$patchbay" replay -i spans.dat -P "$tid" >replay.txt
has "the head of replay" "$(head -1 replay.txt)" '^# DURATION      ON-CPU        TID'
has "it was off the CPU in the sleep" \
  "$(grep -A1 -F 'wait_asleep() {' replay.txt)" '/\* off the CPU for [0-9.]+ ms[?]?: S \*/'
has "and in the lock" "$(sed -n '/wait_locked() {/,/} .* wait_locked/p' replay.txt)" \
  'off the CPU for [0-9.]+ ms[?]?: S'
same "--no-event: no marks" 0 \
  "$("$patchbay" replay -i spans.dat --no-event | grep -c 'off the CPU')"
same "switches are not shown twice" 0 "$(grep -c sched_switch replay.txt)"
# Each state is one that report shows, of the same number of switches.
states() { sort | uniq -c | awk '{ print $2, $1 }'; }
"$patchbay" replay -i spans.dat --json -P "$tid" |
  sed -nE 's/.*"kind": "off_cpu".*"state": "([^"]*)".*/\1/p' | states >marked
# Those between the first and the last record of the thread.
"$patchbay" report -i spans.dat | awk -v tid="$tid" '
  $1 ~ "-" tid "$" && !/sched_switch/ { if (!first) first = NR; last = NR }
  match($0, "prev_pid=" tid " ") && match($0, /prev_state=[^ ]+/) {
    at[NR] = substr($0, RSTART + 11, RLENGTH - 11)
  }
  END { for (n in at) if (n + 0 > first && n + 0 < last) print at[n] }' | states >reported
same "the states are those that the kernel says" "$(cat reported)" "$(cat marked)"

# --- exports: a slice for each time, as many and as long as those of replay
"$patchbay" export --to chrome -i spans.dat -o spans.json 2>/dev/null
"$patchbay" export --to perfetto -i spans.dat -o spans.perfetto 2>/dev/null
"$patchbay" replay -i spans.dat --json -P "$tid" >replay.json
export_tests=$here/../export
python3 "$export_tests/perfetto_check.py" spans.perfetto "$export_tests/perfetto.proto" \
  >perfetto.checked || fail "perfetto"
same "perfetto: sched_switch in its own message, all of them" \
  "$("$patchbay" report -i spans.dat | grep -c ' sched_switch: ')" \
  "$(grep -c '"name": "sched_switch"' perfetto.checked)"
cat >slices.py <<'END'
import json, sys
tid = int(sys.argv[1])
marks = [line for line in map(json.loads, open("replay.json")) if line["kind"] == "off_cpu"]
slices = [e for e in json.load(open("spans.json"))["traceEvents"]
          if e.get("name") == "off the CPU" and e["tid"] == tid]
by_begin = {round(e["ts"] * 1000): e for e in slices}
# Where the switch that brought the thread back is missing there is no slice.
marks = [mark for mark in marks if not mark.get("off_cpu_unsure")]
missing = 0
for mark in marks:
    found = by_begin.get(round(mark["ts"] * 1e9))
    # Numbers of JSON have not all digits of a time since the boot.
    if found is None:
        found = next((e for e in slices if abs(e["ts"] * 1000 - mark["ts"] * 1e9) < 1000), None)
    missing += (found is None or found["args"]["state"] != mark["state"]
                or abs(found["dur"] * 1000 - mark["duration_ns"]) > 2)
print(len(marks) > 0, missing)
END
same "chrome: a slice for each mark of replay" "True 0" "$(python3 slices.py "$tid")"

# --- latency: the same figures by ranges and quantiles
"$patchbay" latency --off-cpu --json -i spans.dat burn >latency.json 2>/dev/null
same "latency --off-cpu: its sums are those of graph" \
  "$("$patchbay" graph -i spans.dat --json --flat | python3 -c '
import json, sys
one = [l for l in map(json.loads, sys.stdin) if l["function"] == "burn"][0]
print(one["calls"], one["self_ns"], one["off_cpu_ns"])')" \
  "$(python3 -c '
import json
one = json.load(open("latency.json"))
for parts in one["quantiles"], one["bars"]:
    assert sum(p["hits"] for p in parts) == one["hits"]
    assert sum(p["off_cpu_ns"] for p in parts) == one["off_cpu_ns"]
print(one["hits"], one["sum_ns"], one["off_cpu_ns"])')"
out=$("$patchbay" latency --off-cpu 'wait_asleep(long n)' -- ./spans 20 2>err)
same "latency --off-cpu of a program: its status" 0 $?
has "and what it says" "$out" '^  max  .* off the CPU|^  p50 .*[0-9] %[?]? off the CPU'
has "of a sleep it is nearly all" "$out" '^4 times, .* [ 1][0-9]{2}\.[0-9] %|^4 times, .* 9[0-9]\.'
out=$("$patchbay" latency --off-cpu 'burn(long n)' 'wait_locked(long n)' -- ./spans 20 2>err)
has "latency --off-cpu from one event to another" "$out" '^1 times, '
same "latency --off-cpu: the program runs as ever" 4 \
  "$(grep -cE '^[a-z_]+ [0-9]+ [0-9]+$' <<<"$out")"
has "latency --off-cpu without switches says so" \
  "$("$patchbay" latency --off-cpu -i /dev/null burn 2>&1)" 'patchbay latency: '

# --- a recording without switches has neither
"$patchbay" record -q -o plain.dat "${functions[@]}" -- ./spans 2 >own
same "without switches: graph" 0 "$("$patchbay" graph -i plain.dat | grep -c ON-CPU)"
same "without switches: replay" 0 \
  "$("$patchbay" replay -i plain.dat | grep -cE 'ON-CPU|off the CPU')"
same "without switches: chrome" 0 "$("$patchbay" export --to chrome -i plain.dat -o - 2>/dev/null |
  grep -c 'off the CPU')"
has "without switches: latency" "$("$patchbay" latency --off-cpu -i plain.dat burn 2>&1)" \
  'has no sched:sched_switch; patchbay record -k sched:sched_switch records it'
same "without switches: --json" 0 "$("$patchbay" graph -i plain.dat --json | grep -c on_cpu_ns)"

# --- what is missing is said
"$patchbay" record -q -o half.dat "${functions[@]}" -k sched:sched_switch \
  -f 'prev_comm == "spans"' -- ./spans 20 >own 2>err || fail "record with a filter: $(cat err)"
"$patchbay" graph -i half.dat --json >graph.json 2>/dev/null
check "switches that a filter took: unsure" grep -qE '"off_cpu_unsure": [1-9]' graph.json
if "$patchbay" record -q -o lost.dat -b 16K "${functions[@]}" -k sched:sched_switch \
  -k 'raw_syscalls:*' -- ./spans 300 flood 2>err; then
  if grep -q 'lost [1-9]' <("$patchbay" report -i lost.dat 2>&1 >/dev/null); then
    "$patchbay" replay -i lost.dat >replay.txt 2>/dev/null
    has "lost events: the call has its mark" "$(grep -F '} /* flood' replay.txt)" '(us|ms|s )\?'
    "$patchbay" replay -i lost.dat --json >replay.json 2>/dev/null
    check "lost events: in --json" \
      grep -q '"function": "flood".*"off_cpu_unsure": true' replay.json
  else
    echo "on_off_cpu.sh: the kernel has lost nothing: its part is SKIPPED"
  fi
else
  echo "on_off_cpu.sh: raw_syscalls cannot be recorded: its part is SKIPPED ($(head -1 err))"
fi
finish
