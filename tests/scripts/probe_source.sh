#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Probes by source line and variable: a C and a C++ program, built by g++ and clang++, -O0 and -O2,
# DWARF 4 and 5. gdb judges each derived definition at several lines; then the agent records, and
# what it recorded is compared with what the program prints itself.
. "$(dirname "$0")/common.bash"
need gdb gcc g++ python3 nm
sources=$here/../programs
c_expressions='item->corner[1].y item->next->name item->label item->flags.middle item->flags.low
  item->colour item->tiny item->is_set item->number *item->next->name'
cxx_expressions='name_ count_ kind_ this->next_ base_number text view._M_len reference table[2]'

# line_of FILE MARKER : the line's number.
line_of() { grep -n "// line: $2\$" "$1" | cut -d: -f1; }

# derive PROGRAM EXPRESSIONS : definitions for all lines of all its functions, for the judge. Places
# at a function's first byte are left to the recording: gdb shows them after the prologue only.
derive() {
  local program=$1 expressions=$2 function line expression
  "$patchbay" probe -x "$program" --funcs | grep -vE '^(main|std::|__|_|.*~)' |
    while read -r function; do
    "$patchbay" probe -x "$program" -L "$function" | sed -n 's/^ *\([1-9][0-9]*\)  .*/\1/p' |
      while read -r line; do
        "$patchbay" probe -x "$program" -n "$function:$line" \$vars 2>/dev/null
        for expression in $expressions; do
          echo "v=$expression"  # for awk, which is started once for all of the definitions
          "$patchbay" probe -x "$program" -n "$function:$line" "v=$expression" 2>/dev/null
        done
        echo
      done | awk '/^(v=.*)?$/ { expression = $0; next }
                  { print expression == "" ? $0 : $0 "\t" expression }'
  done | grep -vE ':main[+ ]'
}

judge() {
  local program=$1 expressions=$2 said
  derive "$program" "$expressions" >"$work/probes"
  said=$(PROBES=$work/probes gdb -q -batch -x "$here/probe_judge.py" "$program" 2>&1)
  has "$(basename "$program"): gdb agrees" "$said" '^judged: [1-9][0-9]+ same, 0 different'
  grep -E '^DIFFERENT' <<<"$said" | head -n 5
}

# same_values PROGRAM PREFIX REQUEST : values of an event, one line a hit, as the program prints.
same_values() {
  local program=$1 prefix=$2 request=$3 expected actual
  expected=$("$program" | sed -n "s/^$prefix //p")
  "$patchbay" record -q -o "$work/t.dat" -e "$request" -- "$program" >/dev/null 2>"$work/err" ||
    { fail "$(basename "$program"): record -e '$request': $(head -c 300 "$work/err")"; return; }
  actual=$("$patchbay" report -i "$work/t.dat" | sed -n 's/.*: ([^)]*) //p' | tr -d "'\"")
  same "$(basename "$program"): $request" "$expected" "$actual"
}

scalars='c s i l uc ul seventh'
add_int="source_cxx.cc:$(($(line_of "$sources/source_cxx.cc" add_int) - 1))"
for compiler in gcc clang; do
  command -v $compiler >/dev/null || continue
  cxx=g++ && [[ $compiler == clang ]] && cxx=clang++
  for flags in '-O0 -gdwarf-5' '-O2 -gdwarf-4' '-O2 -gdwarf-5'; do
    name=$compiler${flags//[ =-]/}
    program=$work/c_$name && other=$work/cxx_$name
    [[ $compiler == clang ]] && flags+=' -fstandalone-debug'  # the layout of std::string
    # shellcheck disable=SC2086 # words
    $compiler $flags -g -no-pie -o "$program" "$sources/source_c.c" || fail "$compiler $flags"
    # shellcheck disable=SC2086
    $cxx -std=c++17 $flags -g -no-pie -o "$other" "$sources/source_cxx.cc" || fail "$cxx $flags"
    judge "$program" "$c_expressions"
    judge "$other" "$cxx_expressions"
    same_values "$program" scalars "scalars $scalars"
    same_values "$program" members \
      'members depth item->name next=item->next->name item->label item->corner[1].y item->colour'
    same_values "$program" twice "source_c.c:$(line_of "$sources/source_c.c" twice) doubled"
    same_values "$other" add_int "$add_int more count=count_ base=base_number kind=kind_"
    same_values "$other" add_text \
      "source_cxx.cc:$(line_of "$sources/source_cxx.cc" add_text) text length"
    same_values "$other" rename 'shop::Order::rename name'
  done
done

# What record makes of it, and what it says when it cannot.
cat >"$work/things.cc" <<'END'
#include <cstdio>
#include <cstring>
#define KEEP __attribute__((noinline, noclone))
namespace shop {
struct Thing {
  unsigned char raw[4];
  char name[8];
  Thing* next;
  double weight;
  float both[2];
};
struct Store {
  int sum = 1;
  KEEP int add(int count) { __asm__ volatile("" : : "r"(this) : "memory"); return sum + count; }
  KEEP int add(Thing* other, double factor) {
    __asm__ volatile("" : : "r"(this), "r"(other) : "memory");
    return sum + int(factor);
  }
  KEEP int operator+(int n) { __asm__ volatile("" : : "r"(this) : "memory"); return sum + n; }
  KEEP int operator()(int n) { __asm__ volatile("" : : "r"(this) : "memory"); return sum - n; }
};
}
KEEP static int walk(shop::Thing* thing, int depth) {
  __asm__ volatile("" : : "r"(thing), "r"(depth) : "memory");
  return depth + thing->raw[0];
}
KEEP long many(int a, int b, int c, int d, int e, int f, int g, double h) {
  __asm__ volatile("" : : "r"(g) : "memory");
  return a + b + c + d + e + f + g + long(h);
}
int main() {
  shop::Thing thing = {{9, 8, 7, 6}, {}, &thing, 2.5, {0.5f, -1.25f}};
  std::memcpy(thing.name, "abcdefgh", 8);
  shop::Store store;
  std::printf("%d %d\n", store.add(4), store.add(&thing, 1.5));
  std::printf("%d %d %d\n", store + 3, store(2), walk(&thing, 5));
  std::printf("%ld\n", many(1, 2, 3, 4, 5, 6, 7, 8.5));
}
END
g++ -std=c++17 -O2 -g -o "$work/things" "$work/things.cc" || fail "things.cc"
g++ -std=c++17 -O2 -o "$work/bare" "$work/things.cc" || fail "things.cc without -g"
g++ -std=c++17 -O2 -g -gsplit-dwarf -dumpdir "$work/" -o "$work/split" "$work/things.cc" ||
  fail "things.cc with -gsplit-dwarf"
# recorded PROGRAM REQUEST… : the lines of a report, without what stands before the event.
recorded() {
  local program=$1 one requests=()
  shift
  for one in "$@"; do requests+=(-e "$one"); done
  "$patchbay" record -q -o "$work/t.dat" "${requests[@]}" -- "$work/$program" >/dev/null \
    2>"$work/err"
  cat "$work/err"
  "$patchbay" report -i "$work/t.dat" 2>&1 | sed -n 's/^[^#].* [0-9]*\.[0-9]*: //p'
  rm -f "$work/t.dat"
}
said=$(recorded things 'walk thing->raw thing->name thing->weight thing->both thing->next->raw:x')
has "arrays end where they end" "$said" \
  'raw=\{9,8,7,6\} name="abcdefgh" weight=2.5 both=\{0.5,-1.25\} raw_1=\{0x9,0x8,0x7,0x6\}$'
said=$(recorded things 'walk%return thing->name depth $retval')
has "parameters of a static function at its return" "$said" 'name="abcdefgh" depth=5 ret=14$'
said=$(recorded things 'shop::Store::add(*)')
has "an overload" "$said" '^main->shop::Store::add\(this=[0-9a-f]+, count=4\)$'
has "and the other one" "$said" \
  '^main->shop::Store::add\(this=[0-9a-f]+, other=[0-9a-f]+, factor=1.5\)$'
said=$(recorded things 'many(*)')
has "all arguments, those on the stack too" "$said" 'a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8.5\)$'
"$patchbay" record -q -o "$work/t.dat" -e 'many(NULL, double h)' -f 'h > 8.25 && h <= 8.5' \
  -e 'none=many(NULL, double h)' -f 'h < -.5 || h == 8.25' -- "$work/things" >/dev/null 2>&1
has "a filter on a double" "$("$patchbay" report -i "$work/t.dat" | grep -c many)" '^1$'
said=$(recorded things 'plus=shop::Store::operator+(NULL, int n)' \
  'call=shop::Store::operator()(NULL, int n)' 'w=walk(*)')
has "an operator with a name" "$said" '^main->shop::Store::operator\+\(n=3\)$'
has "another one" "$said" '^main->shop::Store::operator\(\)\(n=2\)$'
has "a name before (*)" "$said" '^main->walk\(thing=[0-9a-f]+, depth=5\)$'
has "an unknown function is the program's" "$(recorded things 'nosuch(*)')" \
  "There is no function 'nosuch' in the debug information of things"
said=$(recorded bare 'walk(*)')
has "no debug information" "$said" '/bare has no debug information'
[[ $said != *Zydis* && $said != *libm* ]] || fail "the libraries of the agent are named: $said"
has "of .dwo files" "$(recorded split 'walk(*)')" '^main->walk\(thing=[0-9a-f]+, depth=5\)$'
has "a variable of one" "$(recorded split 'walk:0 depth')" 'depth=5$'
rm -f "$work"/*.dwo
has ".dwo files that are gone" "$(recorded split 'walk(*)')" '\.dwo files .* is not there'
has "what stands behind the list is pointed at" "$(recorded things 'walk(x64 t) ret')" \
  "^Unexpected token 'ret' for END state"
said=$("$patchbay" probe -x "$work/things" -n 'walk+99999 thing' 2>&1)
has "an offset that is too large" "$said" 'is beyond the end of walk'
finish
