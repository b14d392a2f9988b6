#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# C++ names and calls: overloads together and one by one, a method of a class template, a function
# in an anonymous namespace, a throw that passes a traced caller.
. "$(dirname "$0")/common.bash"

out=$("$patchbay" record -b 4096 -o "$work/t.dat" \
  -e 'shapes::area(int a)' \
  -e 'shapes::Stack<int>::push(NULL, int value)' \
  -e 'shapes::thrower(int n)' \
  -e 'shapes::guarded(int n)' \
  -e 'shapes::(anonymous namespace)::hidden(int n)' \
  -- "$examples/cpp_shapes" 2>"$work/err")
same "output" "$("$examples/cpp_shapes")" "$out"
events=$(events_of "$work/t.dat")
count() { grep -cE -- "$1" <<<"$events"; }
same "all overloads of area" 210 "$(count '->shapes::area\(')"
same "method of a template class" 100 "$(count '->shapes::Stack<int>::push\(')"
same "thrower" 100 "$(count '->shapes::thrower\(')"
same "guarded, which exceptions pass" 100 "$(count '->shapes::guarded\(')"
same "in an anonymous namespace" 100 "$(count '->shapes::\(anonymous.namespace\)::hidden\(')"
has "pushed values" "$events" 'Stack<int>::push\(value=99\)'

"$patchbay" record -o "$work/u.dat" -e 'shapes::area(int, int)(int width, int height)' \
  -- "$examples/cpp_shapes" >/dev/null 2>"$work/err"
same "one overload by its parameters" 100 "$(events_of "$work/u.dat" | grep -c 'height=2)')"
same "and only that" 100 "$(events_of "$work/u.dat" | wc -l)"
"$patchbay" record -o "$work/v.dat" -e '_ZN6shapes4areaEd(double radius)' \
  -- "$examples/cpp_shapes" >/dev/null 2>"$work/err"
same "by its mangled name" 10 "$(events_of "$work/v.dat" | wc -l)"
has "a double" "$(events_of "$work/v.dat")" 'radius=90(\.0*)?\)'

# Several functions of one constructor call each other (g++ -Os: C1 and C2 go to C4; clang: C1 goes
# to C2, D0 to D1): each object is recorded once, with what it was given.
cat >"$work/made.h" <<'EOC'
#include <sstream>
struct Root { int v; Root(int x) : v(x) {} virtual ~Root() {} };
struct Part : virtual Root {
  Part(int n, const char *name);
  virtual ~Part();
  int n;
  const char *name;
};
struct Whole : Part { Whole(int n) : Root(n), Part(n + 1, "part") {} };
struct Log : std::ostringstream { Log(int n, const char *tag); ~Log(); int n; };
struct Plain { Plain(long n); virtual ~Plain(); long n; };
EOC
cat >"$work/made.cc" <<'EOC'
#include "made.h"
int places[1000];
Part::Part(int n, const char *name) : Root(n), n(n), name(name) { for (int &p : places) p += n; }
Part::~Part() { for (int &p : places) p -= n * n; }
Log::Log(int n, const char *tag) : n(n) { *this << tag; }
Log::~Log() { places[n]++; }
Plain::Plain(long n) : n(n) { places[n]++; }
Plain::~Plain() { for (int &p : places) p -= n; }
EOC
cat >"$work/makes.cc" <<'EOC'
#include "made.h"
int main() {
  Part one(1, "one"); Whole whole(5); Log log(3, "tag"); Plain plain(4);
  delete new Part(7, "seven");
  delete new Plain(8);
}
EOC
made="Log::Log 3 tag,Part::Part 1 one,Part::Part 6 part,Part::Part 7 seven"
made+=",Plain::Plain 4,Plain::Plain 8"
gone="Log::~Log,Part::~Part,Part::~Part,Part::~Part,Plain::~Plain,Plain::~Plain"
for how in g++:-Os g++:-O2:-fdeclone-ctor-dtor g++:-O0 clang++:-O0 clang++:-O2; do
  command -v "${how%%:*}" >/dev/null || continue
  (cd "$work" && ${how//:/ } -g -fPIC -shared -o libmade.so made.cc &&
    ${how//:/ } -g -o makes makes.cc made.cc &&
    ${how//:/ } -g -o makes_so makes.cc -L. -lmade -Wl,-rpath,"$work") ||
    fail "${how//:/ } builds it"
  for program in makes makes_so; do
    "$patchbay" record -q -o "$work/m.dat" -e Part::Part -e Log::Log -e Plain::Plain \
      -- "$work/$program" 2>"$work/err"
    given='s/.*->([A-Z][a-z]+::[A-Za-z]+)\(this=.* n=([0-9]+)((, [a-z]+=([a-z]+))?)\).*/\1 \2 \5/'
    same "$program of ${how//:/ }, made" "$made" \
      "$(events_of "$work/m.dat" | sed -E "$given; s/ $//" | sort | paste -sd,)"
    "$patchbay" record -q -o "$work/m.dat" -e Part::~Part -e Log::~Log -e Plain::~Plain \
      -- "$work/$program" 2>"$work/err"
    same "$program of ${how//:/ }, gone" "$gone" \
      "$(events_of "$work/m.dat" | sed -E 's/.*->([^(]*)\(.*/\1/' | sort | paste -sd,)"
  done
done

# The tracer has a C++ runtime of its own; a plain name means the program's.
throws=$("$patchbay" record -o "$work/w.dat" -e 'libstdc++:__cxa_throw(x64 o)' \
  -- "$examples/cpp_shapes" 2>&1 >/dev/null && events_of "$work/w.dat" | wc -l)
check "the program throws" test "${throws##*$'\n'}" -gt 0
for name in __cxa_throw '_Unwind_RaiseException' 'operator new'; do
  "$patchbay" record -o "$work/w.dat" -e "$name(x64 o)" -- "$examples/cpp_shapes" \
    >/dev/null 2>"$work/err" || fail "$name: $(cat "$work/err")"
  check "$name is the program's" test "$(events_of "$work/w.dat" | wc -l)" -gt 0
done
"$patchbay" record -o "$work/w.dat" -e 'p:thrown __cxa_throw' -- "$examples/cpp_shapes" \
  >/dev/null 2>"$work/err" || fail "a probe: $(cat "$work/err")"
has "a probe by a plain name" "$(cat "$work/err")" "record: ${throws##*$'\n'} events"

# The runtime's functions by their names alone: as many calls as the program makes itself, with
# their arguments, of a program without debug information, too.
cat >"$work/runtime.cc" <<'EOC'
#include <cstdio>
#include <exception>
#include <stdexcept>
struct Late : std::runtime_error {
  using std::runtime_error::runtime_error;
};
__attribute__((noipa)) void* keep(void* p) { return p; }
__attribute__((noipa)) void throws(int n) {
  if (n == 0) throw Late("late");
  if (n == 1) throw std::out_of_range("far");
  if (n == 2) throw 7;
}
int main() {
  for (int i = 0; i < 10; i++) ::operator delete(keep(::operator new(1234 + i)));
  delete[] static_cast<char*>(keep(new char[77]));
  for (int i = 0; i < 3; i++) {
    try {
      throws(i);
    } catch (...) {
    }
  }
  std::set_terminate([] { std::exit(4); });
  std::puts("the end");
  std::fflush(stdout);
  std::terminate();
}
EOC
if g++ -std=c++20 -O1 -include cstdlib -o "$work/runtime" "$work/runtime.cc" 2>"$work/err"; then
  "$patchbay" calls -o "$work/lines" -e 'operator new' -e 'operator new[]' -e __cxa_throw \
    -e std::terminate -- "$work/runtime" >"$work/out" 2>"$work/err"
  same "calls: status and output" "4 the end" "$? $(cat "$work/out")"
  same "operator new, with its argument" 10 \
    "$(grep -cE '^operator new\(12[34][0-9]\) = 0x[0-9a-f]+ <' "$work/lines")"
  same "operator new[]" 1 "$(grep -cE '^operator new\[\]\(77\) = 0x' "$work/lines")"
  same "what is thrown" "Late std::out_of_range int " \
    "$(sed -n 's/^__cxa_throw(0x[0-9a-f]*, \([A-Za-z_:]*\), .*/\1/p' "$work/lines" | tr '\n' ' ')"
  same "std::terminate" 1 "$(grep -cE '^std::terminate\(\)$' "$work/lines")"
  for name in 'operator new' __cxa_throw std::terminate; do
    "$patchbay" record -o "$work/x.dat" -e "$name" -- "$work/runtime" >/dev/null 2>"$work/err"
    has "record -e '$name' means the program's" "$(cat "$work/err")" 'record: [1-9][0-9]* events'
    "$patchbay" hist "$name" keys=common_pid -- "$work/runtime" >"$work/hist" 2>"$work/err"
    has "hist '$name', too" "$(cat "$work/hist")" 'hitcount: +[1-9]'
  done
else
  fail "the program of the runtime does not compile"
fi
finish
