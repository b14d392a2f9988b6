#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mistakes that a compiler finds in programs for patchbay.hpp: each is compiled with g++ and
# clang++, and has to be refused with the sentence that docs/api.md promises. The table of that page
# is what is compiled: a row is | `CODE` | SENTENCE |. And C++17, which is one mistake.
#
#   api_mistakes.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
page=$here/../../docs/api.md
include=$here/../../include
[[ -e $page ]] || skip "no $page"

# What the rows stand in, one function each; a row is line 1 of a file row_N.
program() {
  cat <<'PROGRAM'
#include <patchbay/patchbay.hpp>
using namespace patchbay;
struct point { int x; };
PROGRAM
  local row=0 code
  while IFS= read -r code; do
    row=$((row + 1))
    cat <<PROGRAM
void run_$row(int count, double ratio, point place) {
  auto array = instance::top();
  synthetic_event<field<signed char, "small">> small;
  synthetic_event<field<int, "fd">, field<std::string_view, "path">> opened;
  span_event<field<int, "size">> parse;
  auto span = parse.begin(1);
  (void)count, (void)ratio, (void)place;
#line 1 "row_$row"
$code
}
PROGRAM
  done
}
# The rows: code, a tab, the sentence.
sed -n '/^## Errors of the compiler/,$p' "$page" |
  sed -nE 's/^\| `(.*)` \| ([^|`].*[^ ]) +\|$/\1\t\2/p' >"$work/rows"
check "the page has a table of mistakes" test "$(wc -l <"$work/rows")" -ge 12
cut -f 1 "$work/rows" | program >"$work/mistakes.cc"

for compiler in g++ clang++; do
  command -v $compiler >/dev/null || continue
  # Without a mistake the program compiles: it is the mistakes that are refused.
  out=$(program <<<'small.trace(100); opened.trace(count, "x"); span.value<"size">() = 2;' |
    $compiler -std=c++20 -Wall -Wextra -Werror -I"$include" -fsyntax-only -x c++ - 2>&1)
  same "without a mistake: $compiler" "" "$out"
  [[ $compiler == clang++ ]] && limit=-ferror-limit=0 || limit=-fmax-errors=0
  $compiler -std=c++20 -I"$include" -fsyntax-only $limit "$work/mistakes.cc" >"$work/out" 2>&1
  row=0
  while IFS=$'\t' read -r code sentence; do
    row=$((row + 1))
    check "$compiler refuses: $code" grep -qE "(^|[ '\`‘(])row_$row:1" "$work/out"
    check "$compiler says: $sentence" grep -qF -- "$sentence" "$work/out"
  done <"$work/rows"
  out=$($compiler -std=c++17 -I"$include" -fsyntax-only -x c++ - \
    <<<'#include <patchbay/patchbay.hpp>' 2>&1)
  same "$compiler in C++17: one error" 1 "$(grep -c 'error:' <<<"$out")"
  has "$compiler in C++17: what is wrong" "$out" 'patchbay.hpp needs C\+\+20 \(-std=c\+\+20\)'
done
finish
