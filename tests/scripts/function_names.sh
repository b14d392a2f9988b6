#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names that mean one function of several, and functions that are no ordinary ones: f@file.c, stubs
# of calls (f@plt), what is chosen at run time (memcpy, time), and what is said where a name means
# nothing.
#   function_names.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc
cd "$work" || exit
cat >one.c <<'C'
__attribute__((noinline, noipa)) static int twice(int n) {
  __asm__ volatile("" ::: "memory");
  return n + 1;
}
int one(int n) { return twice(n); }
C
sed 's/one/other/; s/n + 1/n + 2/' one.c >my-other.c
cat >main.c <<'C'
#include <stdio.h>
#include <string.h>
#include <time.h>
int one(int), other(int);
char to[4096], from[4096];
__attribute__((noinline)) static long uses(int n) {
  memcpy(to, from, 100 + n);
  memmove(to + 1, to, 10 + n);
  memset(to, 1, 200 + n);
  return (long)strlen(to) + (time(0) > 0);
}
int main(void) {
  long sum = 0;
  for (int i = 0; i < 10; i++) sum += uses(i) + one(i) + (i % 2 ? other(i) : 0);
  printf("%ld\n", sum);
}
C
gcc -O1 -fno-builtin -o twofiles main.c one.c my-other.c || skip "gcc cannot build the program"
plain=$(./twofiles)
# traced OPTION... : the report's lines without heads. What the program prints stays as it is.
traced() {
  same "output of $*" "$plain" "$("$patchbay" record -q -o t.dat "$@" -- ./twofiles 2>err)"
  lines=$("$patchbay" report -i t.dat 2>/dev/null | grep -v '^#')
}
number() { grep -cE -- "$1" <<<"$lines"; }
# refused TEXT OPTION... : record refuses with a sentence that matches.
refused() {
  local text=$1
  shift
  "$patchbay" record -q -o t.dat "$@" -- ./twofiles >out 2>err && fail "$* is taken"
  has "why $* is refused" "$(cat err)" "$text"
}

traced -e 'twice@one.c(int n)' -e 'p:x twice@my-other.c n=$arg1' -e 'p:y twice@my-other.c+0 n=$arg1'
same "a function event on the one" 10 "$(number 'one->twice\(n=')"
same "no other function event" 10 "$(number '->')"
same "a probe on the other" 5 "$(number ': x: \(twice')"
same "the file's name has a minus" 5 "$(number ': y: \(twice')"
traced -t function -l 'twice@my-other.c'
same "the tracer function on the other" 5 "$(number ': twice <-other')"
same "and on nothing else" 5 "$(number '<-')"
refused 'not unique: 2 functions .* write twice@(one|my-other)\.c \(0x[0-9a-f]+\), twice@' \
  -e 'p:x twice'
refused 'no function "twice@third.c"' -e 'p:x twice@third.c'

traced -e 'memcpy(x64 to, x64 from, int n)' -e 'memset(NULL, int c, int n)' -e 'r:moved memmove'
same "memcpy" 10 "$(number 'uses->.*mem(cpy|move).*n=10[0-9]\)')"
same "memset" 10 "$(number 'uses->.*memset.*c=1, n=20[0-9]\)')"
check "memmove" test "$(number ': moved: \(uses')" -ge 10
traced -t function -l memmove
check "memmove, which is listed by another name" test "$(number '<-uses')" -ge 10

traced -e 'strlen@plt(x64 s)' -e 'p:s strlen@plt s=$arg1' -e 'r:t time@plt'
same "a stub of calls" 10 "$(number 'uses->strlen@plt\(s=')"
same "a probe on it" 10 "$(number ': s: \(strlen@plt\+0x0')"
same "and its return" 10 "$(number ': t: \(uses.* <- time@plt\)')"
refused "vdso, which cannot be traced; an object's own calls are time@plt" -e 'p:x time'
refused 'no function "scanf@plt"' -e 'p:x scanf@plt'
refused '"__restore_rt" (in libc.so.6 is code that nobody calls|is only imported)|no function' \
  -e 'p:x libc:__restore_rt'

# --- whose function, and names that are no plain words
long=Java_com_example_company_product_subsystem_module_component_NativeBridgeConnectionManager
long=${long}_nativeOpenConnectionWithParametersAndTimeout__ILjava_lang_String_2
cat >own.cc <<CC
#include <cstdio>
#include <string>
#define N __attribute__((noinline, noclone, used))
struct Host { std::string db; };
N int send(Host const &h, const char *s) {
  asm volatile("" ::"r"(h.db.c_str()));  // what is not read need not be passed
  return int(h.db.size()) + s[0];
}
namespace { N int recv(int n) { asm volatile(""); return n + 1; } }
struct T {
  int v;
  N explicit operator bool() const { asm volatile(""); return v != 0; }
  N operator char const *() const { asm volatile(""); return "abc"; }
  N T operator*(T o) const { asm volatile(""); return T{v * o.v}; }
};
N long operator""_kg(unsigned long long n) { asm volatile(""); return long(n) * 1000; }
N int größe(int länge) { asm volatile(""); return länge; }
extern "C" {
N int enable(int a) { asm volatile(""); return a; }
N int $long(int n) { asm volatile("" ::"r"(n)); return n; }
}
namespace geo {
__attribute__((noinline)) int name_len(std::string const &name, int const &base, bool loud) {
  int sum = base;
  for (char c : name) sum += c * (base + 1);
  if (loud) std::puts(name.c_str());
  if (sum == 77) __builtin_abort();
  return sum;
}
}
int (*keep)(std::string const &, int const &, bool);
int main(int argc, char **argv) {
  T t{argc};
  int sum = send(Host{"db1"}, "h") + recv(2) + bool(t) + ((const char *)t)[0] + (t * t).v;
  sum += int(5_kg) + größe(7) + enable(7) + $long(3);
  for (int i = 0; i < 3; i++) sum += geo::name_len(std::string(size_t(i + argc), 'x'), 5, false);
  if (argc > 1) keep = geo::name_len;
  std::printf("%d\n", sum + (keep != nullptr));
}
CC
g++ -g -O3 -o own own.cc || skip "g++ cannot build the program"
calls_of() {
  "$patchbay" calls -o lines "$@" -- ./own >out 2>err && sed -E 's/ <[0-9.]+ ms>$//' lines
}
same "the program's own before libc's" 'send({db="db1"}, "h") = 107' "$(calls_of -e send)"
has "and that is said" "$(cat err)" 'send\(\) is in own and libc.so.6: own:send is meant; .*:send'
same "its own of the nameless namespace" '(anonymous namespace)::recv(2) = 3' "$(calls_of -e recv)"
same "beside one that is hit" 'größe(7) = 7' "$(calls_of -e größe -e libc:send)"
has "one that was not is said" "$(cat err)" "'libc:send' was not hit"
for name in 'T::operator bool' T::operator_bool; do
  has "$name" "$(calls_of -e "$name")" '^T::operator.bool\(.*\) = true$'
done
for name in 'T::operator char const*' 'T::operator_char_const*'; do
  has "$name" "$(calls_of -e "$name")" '^T::operator.char.const\*\(.*\) = "abc"$'
done
has "T::operator*" "$(calls_of -e 'T::operator*')" '^T::operator\*\(.*v=1.* = '
for name in 'operator""_kg' 'operator"" _kg'; do
  same "$name" 'operator""_kg(5) = 5000' "$(calls_of -e "$name")"
done
for name in geo::name_len 'geo::*'; do
  same "$name and its clone" 3 "$(calls_of -e "$name" | grep -c '^geo::name_len')"
done
traced_own() {
  "$patchbay" record -q -o t.dat "$@" -- ./own >out 2>err
  "$patchbay" report -i t.dat
}
has "a field beyond ASCII" "$(traced_own -e größe -f 'länge > 3')" 'größe\(l_u00e4nge=7\)'
has "a function called enable" "$(traced_own -e 'enable(int a)' -f 'a > 5')" 'main->enable\(a=7\)'
has "a name of 160 characters" "$(traced_own -e "$long")" "main->$long\(n=3\)"
same "a glob of own" "$(traced_own -t function -l 'own:*' | sed -n 's/.*: function: //p' | sort)" \
  "$(traced_own -t function -l ':mod:own' | sed -n 's/.*: function: //p' | sort)"
has "the tracer at the program's own" "$(traced_own -t function -l send)" 'function: send <-main'

# Names that a stripped program has in .gnu_debugdata alone.
if command -v xz >/dev/null; then
  cat >packed.c <<'C'
__attribute__((noipa)) static int inner(const char *text, int n) { return n * 3 + text[0]; }
int main(void) { return inner("q", 10) - 143; }
C
  gcc -O1 packed.c -o packed
  nm packed --format=posix --defined-only | awk '$2 == "t" || $2 == "T" { print $1 }' >keep
  objcopy -S --keep-symbols=keep packed packed.names && xz -f packed.names
  objcopy --strip-all packed && objcopy --add-section .gnu_debugdata=packed.names.xz packed
  for event in inner 'inner(string text, int n)' 'int r = inner(string text, int n)'; do
    "$patchbay" record -q -o t.dat -e "$event" -- ./packed 2>err
    same "a packed name: status of $event" 0 $?
    has "a packed name: $event" "$("$patchbay" report -i t.dat)" 'main->inner\(.*(n=10|arg2=a)[,)]'
  done
  "$patchbay" calls -o calls -e inner -- ./packed 2>err
  has "calls of a packed name" "$(cat calls)" '^inner\(0x[0-9a-f]*, 0xa, .*\) = 0x8f <'
fi

# The names that are listed mean their functions again.
"$here/names_back.py" "$build" "${NAMES_SEED:-1}" "${NAMES_COUNT:-30}" libstdc++ node rust >out 2>&1
same "names that are listed: $(cat out)" 0 $?

# In libc, where no int3 may be: a probe whose jump takes the end of another one's former stub.
LD_PRELOAD=$agent sleep 60 &
idle=$!
started "$idle"
write() { "$patchbay" write "$idle" "$@" 2>err; }
check "the process has a tree" wait_for 20 write kprobe_events 'p:a libc:getenv'
check "it is on" write events/kprobes/a/enable 1
check "and off" write events/kprobes/a/enable 0
check "and gone" write kprobe_events '-:a'
placed=0
for offset in 1 2 3 4; do
  write kprobe_events "p:b$offset libc:getenv+$offset" || continue  # no instruction begins there
  check "a probe at getenv+$offset" write events/kprobes/b$offset/enable 1
  placed=$((placed + 1))
done
check "some instruction begins there" test "$placed" -gt 0

# What the agent calls for itself is neither a hit of the program nor a miss.
check "malloc" write kprobe_events 'p:m libc:malloc'
check "malloc is on" write events/kprobes/m/enable 1
for _ in 1 2 3 4 5; do "$patchbay" cat "$idle" trace >/dev/null; done
profile=$("$patchbay" cat "$idle" kprobe_profile | awk '$1 == "m" { print $2, $3 }')
same "kprobe_profile of a program that sleeps" "0 0" "$profile"
recursion=$("$patchbay" cat "$idle" debug/counters | awk '$1 == "recursion:" { print $2 }')
check "the agent's calls are counted as recursion" test "${recursion:-0}" -gt 0
kill "$idle"
finish
