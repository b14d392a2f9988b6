#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Function events that are whole calls: `int fd = open(string path, x32 flags)`.
#   whole_calls.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
cd "$work" || exit
program=$programs/whole_calls

# --- every kind of value, as it was at the entry and as it is at the return
record() {
  "$patchbay" record -o "$work/x.dat" "$@" >"$work/out" 2>"$work/err" ||
    fail "record: $(tail -n 3 "$work/err")"
}
# line FUNCTION : what the report says of its first call behind the "->", without the duration.
line() {
  events_of x.dat | sed -n "s/.*->\($1(.*\)/\1/p" | sed 's/ duration=[0-9]*$//' |
    head -n "${2:-1}"
}
plain=$("$program" 2 100)
record -e 'int r = add(int a, int b)' -e 'double d = scale(double x, int times, float more)' \
  -e 'float f = half(float x)' \
  -e 'long n = fill(string name, out string/n buffer, long size, out int used[0])' \
  -e 'string s = name_of(int which)' -e 'int r = recurse(int depth)' -e 'void = rests(int ms)' \
  -e 'int r = throws(int how)' -e 'int r = jumps(int how)' \
  -e 'long sum = many(long a, long b, long c, long d, long e, long f, string text)' \
  -e 'long double t = third(long double x)' -e 'int r = fails(int with, int $errno)' \
  -e 'got = int fd = open(string path, x32 flags)' -- "$program" 2 100
same "the program prints what it prints untraced" "$plain" "$(<out)"
same "nothing is lost" 0 "$(summary_lost err)"
same "a call is counted once, in threads, handlers and the child" 260 "$(count_of x.dat add)"
has "arguments, and the result behind them" "$(events_of x.dat)" \
  '->add\(a=1000, b=9\) r=1009 duration=[0-9]+$'
same "vector registers" "scale(x=1.5, times=4, more=0.25) d=6.25" "$(line scale)"
same "a float" "half(x=3) f=1.5" "$(line half)"
same "texts of the entry and of the return" \
  "fill(name=someone, buffer=filled for someone, size=64, used=18) n=18" "$(line fill)"
same "a text that is returned, and one that cannot be read" \
  "name_of(which=0) s=zero|name_of(which=1) s=one|name_of(which=2) s=" \
  "$(line name_of 3 | paste -sd '|')"
same "each level of a recursion has its own" \
  "$(for i in {0..40}; do echo "recurse(depth=$i) r=$((i + 1))"; done)" \
  "$(line recurse 99)"
same "arguments on the stack" "many(a=1, b=2, c=3, d=4, e=5, f=6, text=on the stack) sum=21" \
  "$(line many)"
same "a long double" "third(x=1) t=~0.333333|third(x=1.5) t=0.5" \
  "$(line third 2 | sed -E 's/(0\.333333)3*/\1/' | paste -sd '|')"
same "errno as the function has left it" \
  "fails(with=1) r=-1 errno=1|fails(with=2) r=-1 errno=2|fails(with=3) r=-1 errno=3" \
  "$(line fails 3 | paste -sd '|')"
same "a function left by an exception is no whole call" 50 "$(count_of x.dat throws)"
same "nor is one left by longjmp" 50 "$(count_of x.dat jumps)"
rest=$(events_of x.dat | sed -n 's/.*->rests(ms=30) duration=//p')
check "30 ms are 30 ms: $rest" test "$rest" -ge 29990000 -a "$rest" -le 3000000000

record -e 'r:back third t=$retval:float80 at=$retval' -- "$program" 2 100
has "the long double of a return probe" "$("$patchbay" report -i x.dat 2>/dev/null)" \
  ' t=abaaaaaaaaaaaaaafd3f000000000000 at='
has "and in calls" "$("$patchbay" calls -e 'long double third(long double x)' -- "$program" 2>&1)" \
  '^third\(2\) = ~0\.6666666666666666 <'

# --- numbers of the vector registers: at the entry, of a return, of a whole call
cat >floats.cc <<'EOC'
#include <cstdio>
extern "C" __attribute__((noinline, used)) double mix(double x, int times, float more) {
  asm volatile("");
  return x * times + double(more);
}
extern "C" __attribute__((noinline, used)) float deeper(float x, int left) {
  const float below = left ? deeper(x + 0.5f, left - 1) : x;
  asm volatile("");
  return below + 1;
}
int main() {
  double sum = 0;
  for (int i = 0; i < 100; i++) sum += mix(i * 0.5, i, 0.25f);
  for (int i = 0; i < 10; i++) sum += double(deeper(0.25f, 30));
  std::printf("%.2f\n", sum);
}
EOC
"${CXX:-c++}" -O1 -o floats floats.cc || fail "floats.cc"
record -e 'double d = mix(double x, int times, float more)' -e 'enters = mix(double x, int times)' \
  -e 'float f = deeper(float x, int left)' -- ./floats
same "the program's sum" "$(./floats)" "$(<out)"
same "the first hits and the later ones" \
  "$(awk 'BEGIN { for (i = 0; i < 100; i++)
    printf "mix(x=%g, times=%d, more=0.25) d=%g\n", i / 2, i, i * i / 2 + 0.25 }')" \
  "$(line mix 999 | grep ' d=')"
same "entries beside them" \
  "$(awk 'BEGIN { for (i = 0; i < 100; i++) printf "mix(x=%g, times=%d)\n", i / 2, i }')" \
  "$(line mix 999 | grep -v ' d=')"
same "a recursion that is deeper than there are spares" \
  "$(awk 'BEGIN { for (k = 0; k < 10; k++) for (i = 0; i <= 30; i++)
    printf "deeper(x=%g, left=%d) f=%g\n", 0.25 + (30 - i) / 2, i, 16.25 + i }')" \
  "$(line deeper 999)"

# --- threads: the counts are exact, also while the event is switched
record -b 65536 -e 'int r = add(int a, int b)' -- "$program" 8 20000
same "8 threads" $((8 * 20000 + 60)) \
  "$(($(summary_events err) + $(summary_lost err)))"
wrong=$(events_of x.dat |
  sed -n 's/.*->add(a=\([0-9]*\), b=\([0-9]*\)) r=\([0-9]*\) .*/\1 \2 \3/p' |
  awk '$1 + $2 != $3' | wc -l)
same "each result stands with its own arguments" 0 "$wrong"

record -b 65536 -e 'int r = add(int a, int b)' -f 'a >= 4 && a < 8 && b >= 10000 && duration >= 0' \
  -- "$program" 8 20000
same "8 threads, half the calls of half of them" 40000 \
  "$(($(summary_events err) + $(summary_lost err)))"

# --- filters, triggers, histograms, another instance; all of them see the whole call
record -e 'int r = add(int a, int b)' -f 'r > 100 && a == 1' -- "$program" 2 200
same "a filter on the result" 100 "$(count_of x.dat add)"
record -e 'int r = fails(int with, int $errno)' -f 'r == -1 && errno == 2' -- "$program" 2 200
same "a filter on errno" "fails(with=2) r=-1 errno=2" "$(line fails 9)"
hist=$("$patchbay" hist 'int r = fails(int with, int $errno)' keys=errno -- "$program" 2>&1)
has "a histogram of errno" "$hist" 'errno: *3 *} hitcount: *1$'
hist=$("$patchbay" hist 'int r = recurse(int depth)' keys=r.log2 vals=hitcount -- "$program" 2>&1)
has "a histogram of results" "$hist" '2\^5 *} hitcount: *16$'
has "a histogram of durations" \
  "$("$patchbay" hist 'void = rests(int ms)' keys=ms vals=duration -- "$program" 2>&1)" \
  'ms: *30.*duration: *[3-9][0-9]{7}'

mkfifo gate
LD_PRELOAD=$agent \
  bash -c 'read -r _ <gate; exec 3>&-' & # a program that waits; its own functions are not used
waiting=$!
started $waiting
wait_for 20 "$patchbay" ls $waiting || fail "the agent does not answer"
write() { "$patchbay" write $waiting "$@" 2>&1; }
has "a definition that cannot be: the caret" \
  "$(write function_events 'int r = getenv(int[n] v)')" "that is a number"
has "errno where nothing returns" "$(write function_events 'getenv(string s, int $errno)')" \
  'is for a call with its result'
write function_events 'e = string s = getenv(string name)' >err
write function_events 'void = free(x64 p)' >>err
same "definitions are taken" "" "$(<err)"
same "and listed so that they can be written again" \
  "e=string s = getenv(string name)|void = free(x64 p)" \
  "$("$patchbay" cat $waiting function_events | grep -v '^int r' | paste -sd '|')"
has "dynamic_events lists them too" "$("$patchbay" cat $waiting dynamic_events)" \
  '^void = free\(x64 p\)$'
has "the format has the result and the duration" \
  "$("$patchbay" cat $waiting events/functions/e/format)" \
  'print fmt: "%pS->%pS\(name=%s\) s=%s duration=%llu"'
has "a function whose return cannot be met says so" \
  "$(write function_events 'int r = _setjmp(x64 p)')" 'its return cannot be met'
has "too much to keep says how much, and what to do" \
  "$(write function_events 'void = setenv(string a, string b, string c, string d)')" \
  'a call keeps 2040.*string/LENGTH/100'
write function_events '!e' >err
same "removed by its name" "" "$("$patchbay" cat $waiting function_events | grep getenv)"
echo >gate
wait $waiting

# --- several definitions of one function, more than a call has room for: what is missed is counted
cat >busy.c <<'EOC'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int busy(const char *a, const char *b, const char *c) {
  asm volatile("" : : "r"(a), "r"(b), "r"(c));
  return 3;
}
int main(void) {
  char go;
  int sum = 0;
  if (read(0, &go, 1) != 1) return 1;
  for (int i = 0; i < 1000; i++) sum += busy("one", "two", "three");
  printf("%d\n", sum);
  fflush(stdout);
  return read(0, &go, 1) != 1;
}
EOC
gcc -O1 -o busy busy.c
mkfifo busy.in
LD_PRELOAD=$agent ./busy <busy.in >busy.out 2>err &
busy=$!
started $busy
exec 5>busy.in
wait_for 20 "$patchbay" ls $busy || fail "the agent does not answer"
for i in 1 2 3; do
  check "definition $i" \
    "$patchbay" write $busy function_events "c$i = int r = busy(string a, string b)"
done
check "an entry beside them" \
  "$patchbay" write $busy function_events "entry = busy(string a, NULL, string c)"
check "enabled" "$patchbay" write $busy events/functions/enable 1
"$patchbay" cat $busy debug/counters >before
printf x >&5
wait_for 60 test -s busy.out || fail "busy does not answer"
same "the program goes on" 3000 "$(<busy.out)"
trace=$("$patchbay" cat $busy trace)
# Two of 1,048 bytes do not fit into 2,040.
same "one call fits, two do not" "1000" "$(grep -c ') r=3 duration=' <<<"$trace")"
same "the entries are all there" "1000" "$(grep -c 'c=three)$' <<<"$trace")"
counted() { awk '$1 ~ /^missed/ { print $2 }' "$1"; }
"$patchbay" cat $busy debug/counters >after
same "what has no room is counted" 2000 "$(($(counted after) - $(counted before)))"
printf x >&5
exec 5>&-
wait $busy

# --- calls that are left have no record, and are counted
cat >left.cc <<'EOC'
#include <csetjmp>
#include <cstdio>
#include <thread>
#include <unistd.h>
static thread_local jmp_buf place;
extern "C" __attribute__((noinline, used)) int left(int how) {
  asm volatile("" ::: "memory");
  if (how == 1) throw how;
  if (how == 2) longjmp(place, 1);
  return how;
}
static void leave(int times, int how) {
  for (volatile int i = 0; i < times; i = i + 1) try {
      if (!setjmp(place)) left(how);
    } catch (int) {
    }
}
int main() {
  char go;
  if (read(0, &go, 1) != 1) return 1;
  leave(40, 1);
  leave(30, 2);
  std::thread(leave, 20, 1).join();  // with its stack
  leave(5, 0);
  puts("left");
  fflush(stdout);
  return read(0, &go, 1) != 1;
}
EOC
"${CXX:-c++}" -O1 -w -o left left.cc -pthread || fail "left.cc"
mkfifo left.in
LD_PRELOAD=$agent ./left <left.in >left.out 2>err &
left=$!
started $left
exec 6>left.in
wait_for 20 "$patchbay" ls $left || fail "left does not answer"
check "defined" "$patchbay" write $left function_events "int r = left(int how)"
check "enabled" "$patchbay" write $left events/functions/enable 1
printf x >&6
wait_for 60 test -s left.out || fail "left does not go on"
same "those that return" 5 "$("$patchbay" cat $left trace | grep -c ') r=0 duration=')"
same "those that were left" "left: 90" "$("$patchbay" cat $left debug/counters | grep '^left')"
printf x >&6
exec 6>&-
wait $left
same "its end" 0 $?

# --- switched while calls are open, in 8 threads: what is recorded is right, and so is the program
cat >switched.cc <<'EOC'
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <vector>
static std::atomic<bool> stop;
extern "C" __attribute__((noinline, used)) long deep(long a, const char *text, long left) {
  asm volatile("" : "+r"(text));
  return left ? deep(a + 1, text, left - 1) - 1 : 2 * a;  // 2 * (a + left) - left
}
static void call(long from, std::atomic<long> *wrong) {
  char text[2][70];
  snprintf(text[0], sizeof text[0], "%ld", from);
  snprintf(text[1], sizeof text[1], "%060ld", from);
  while (!stop)
    for (long i = 0; i < 2; i++)
      if (deep(from, text[i], 3) != 2 * from + 3) ++*wrong;
}
int main() {
  char go;
  std::atomic<long> wrong{0};
  if (read(0, &go, 1) != 1) return 1;
  std::vector<std::thread> threads;
  for (long i = 0; i < 8; i++) threads.emplace_back(call, 1000 * i, &wrong);
  puts("calls");
  fflush(stdout);
  if (read(0, &go, 1) != 1) return 1;
  stop = true;
  for (std::thread &thread : threads) thread.join();
  printf("%ld wrong\n", wrong.load());
  fflush(stdout);
  return read(0, &go, 1) != 1;
}
EOC
"${CXX:-c++}" -O1 -fno-optimize-sibling-calls -o switched switched.cc -pthread ||
  fail "switched.cc"
mkfifo switched.in
LD_PRELOAD=$agent ./switched <switched.in >switched.out 2>err &
switched=$!
started $switched
exec 7>switched.in
wait_for 20 "$patchbay" ls $switched || fail "switched does not answer"
check "defined" "$patchbay" write $switched function_events \
  "long r = deep(long a, string text, long left)"
printf x >&7
wait_for 60 grep -q calls switched.out || fail "switched does not begin"
for i in {1..30}; do
  "$patchbay" write $switched events/functions/enable $((i % 2)) || fail "enable $i"
  if ((i % 10 == 0)); then
    "$patchbay" write $switched events/functions/deep/filter 'left < 3' || fail "filter $i"
    "$patchbay" write $switched events/functions/enable 1 || fail "enable $i, filtered"
    "$patchbay" write $switched events/functions/deep/filter 0 || fail "no filter $i"
  fi
done
"$patchbay" write $switched events/functions/enable 0
"$patchbay" cat $switched trace >trace
printf x >&7
wait_for 60 grep -q wrong switched.out || fail "switched does not end"
same "the program is right" "0 wrong" "$(tail -n 1 switched.out)"
right=$(sed -En 's/.*->deep\((a=.*)\) (r=.*)$/\1, \2/p' trace |
  sed -En 's/^a=([0-9]+), text=([0-9]+), left=([0-3]), r=([0-9]+) duration=[0-9]+$/\1 \2 \3 \4/p' |
  awk '$4 == 2 * $1 + $3 && $1 == $2 + 3 - $3' | wc -l)
check "there are calls in the trace" test "$right" -ge 100
same "each with its own arguments, text and result" "$(grep -c -- '->deep(' trace)" "$right"
same "none is left, none missed" "0" "$("$patchbay" cat $switched debug/counters |
  awk '/^(left|missed)/ { n += $2 } END { print n + 0 }')"
printf x >&7
exec 7>&-
wait $switched
same "its end" 0 $?

# --- registers of events that come to a place whose code is there: it was made for an event that
# --- reads no others than those of its arguments
cat >joined.cc <<'EOC'
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <vector>
static std::atomic<bool> stop;
extern "C" __attribute__((noinline, used)) double mix(double x, int times) {
  asm volatile("");
  return x * times;
}
extern "C" __attribute__((noinline, used)) int give(int times) {
  asm volatile("");
  return times;
}
// give(7) with a number in each register.
static void give_all() {
  asm volatile(
      "mov $1, %%eax\n mov $2, %%ebx\n mov $3, %%ecx\n mov $4, %%edx\n mov $5, %%esi\n"
      "mov $7, %%edi\n mov $8, %%r8d\n mov $9, %%r9d\n mov $10, %%r10d\n mov $11, %%r11d\n"
      "mov $12, %%r12d\n mov $13, %%r13d\n mov $14, %%r14d\n mov $15, %%r15d\n"
      "sub $128, %%rsp\n call give\n add $128, %%rsp\n" ::
          : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15", "memory", "cc");
}
static void call() {
  while (!stop) {
    mix(1.5, 3);
    give_all();
  }
}
int main() {
  char go;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) threads.emplace_back(call);
  const bool ends = read(0, &go, 1) == 1;
  stop = true;
  for (std::thread &thread : threads) thread.join();
  return !ends;
}
EOC
"${CXX:-c++}" -O1 -o joined joined.cc -pthread || fail "joined.cc"
mkfifo joined.in
LD_PRELOAD=$agent ./joined <joined.in 2>err &
joined=$!
started $joined
exec 8>joined.in
wait_for 20 "$patchbay" ls $joined || fail "joined does not answer"
there() { "$patchbay" write $joined "$@" || fail "write $*"; }
there function_events 'there = mix(int times)'
there function_events 'enters = mix(double x, int times)'
there function_events 'double d = mix(double x, int times)'
there events/functions/there/filter 'common_pid == 1'  # nothing is recorded of it
there options/overwrite 0                              # but what comes first of the others
there buffer_size_kb 64
for way in enters mix; do
  there events/functions/there/enable 1
  for i in {1..12}; do
    "$patchbay" write --truncate $joined trace ''
    there events/functions/$way/enable 1
    there events/functions/$way/enable 0
    "$patchbay" cat $joined trace
  done | grep -- '->mix(' >trace
  check "$way is in the trace" test -s trace
  same "$way: the numbers are those of the calls" "" \
    "$(grep -vE -m 3 -- '->mix\(x=1.5, times=3\)( d=4.5 duration=[0-9]+)?$' trace)"
  there events/functions/enable 0
done
there function_events 'there2 = give(int times)'
there events/functions/there2/filter 'common_pid == 1'
there dynamic_events 'p:joined/all give ax=%ax:u64 bx=%bx:u64 cx=%cx:u64 dx=%dx:u64 si=%si:u64'\
' di=%di:u64 r8=%r8:u64 r9=%r9:u64 r10=%r10:u64 r11=%r11:u64 r12=%r12:u64 r13=%r13:u64'\
' r14=%r14:u64 r15=%r15:u64'
there events/functions/there2/enable 1
for i in {1..12}; do
  "$patchbay" write --truncate $joined trace ''
  there events/joined/all/enable 1
  there events/joined/all/enable 0
  "$patchbay" cat $joined trace
done | grep ' all: ' >trace
check "the probe is in the trace" test -s trace
passed='ax=1 bx=2 cx=3 dx=4 si=5 di=7 r8=8 r9=9'
for n in {10..15}; do passed+=" r$n=$n"; done
same "the probe: the registers are those of the calls" "" "$(grep -v -m 3 " $passed\$" trace)"
printf x >&8
exec 8>&-
wait $joined
same "its end" 0 $?

# --- a name that the program has not is none of the agent's own functions either
has "no function of the agent is offered" \
  "$("$patchbay" record -o x.dat -e 'int r = add(int a)' -- /bin/true 2>&1)" 'no function "add" in'

# --- what cannot be had is said, and nothing else is recorded in its place
out=$("$patchbay" record -o none.dat -e 'long r = add(string $errno)' -- "$program" 1 1 2>&1)
same "a result that is not read is an error" 1 $?
has "… of the definition as it stands" "$out" '^long r = add\(string \$ errno \)$'
has "… with the reason" "$out" '\$errno is a number: int \$errno'
check "… and there is no file" test ! -e none.dat
out=$("$patchbay" record -o none.dat -e 'add(s128 a)' -f 'a > 3' -- "$program" 1 1 2>&1)
same "a filter that could never be true is an error" 1 $?
has "… with the reason" "$out" '^Illegal operation for field type'

# --- where there is no agent
cat >static.c <<'EOC'
__attribute__((noinline)) int f(int a) { asm volatile(""); return a; }
int main(void) { return f(0); }
EOC
if gcc -O1 -static -o static static.c 2>/dev/null; then
  has "a static program: what to write instead" \
    "$("$patchbay" record -o x.dat -e 'int r = f(int a)' -- ./static 2>&1)" \
    'r:NAME f ret=\$retval|uprobe'
fi
finish
