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
finish
