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
  "$patchbay" probe -x "$program" -F | grep -vE '^(main|std::|__|_|.*~)' |
    while read -r function; do
    "$patchbay" probe -x "$program" -L "$function" | sed -n 's/^ *\([1-9][0-9]*\)  .*/\1/p' |
      while read -r line; do
        "$patchbay" probe -x "$program" -n "$function:$line" \$vars 2>/dev/null
        for expression in $expressions; do
          "$patchbay" probe -x "$program" -n "$function:$line" "v=$expression" 2>/dev/null |
            sed "s|\$|\tv=$expression|"
        done
      done
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
finish
