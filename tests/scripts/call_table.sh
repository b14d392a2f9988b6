#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A table of calls of C, C++ and Rust: each program prints below each call the line that
# `patchbay calls` has to show for it, and both are the same, line by line. What cannot be shown yet
# is a row of `gaps`, with the mark that stands in its place.
#   call_table.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc
cd "$work" || exit
tables=$here/call_table

# Rows: where (a glob for LANGUAGE COMPILER FLAGS), a glob of lines that cannot be shown yet, and
# what stands in their place: "= MARK" of the result alone.
gaps=()
gap() { gaps+=("$1"$'\t'"$2"$'\t'"$3"); }
# An optional of libc++ has a union in it, which no structure of function_events has.
gap 'cc *libc++*' 't_returns_optional(*' '= {…}'
# Of Rust a Box, a Vec of texts and an Option at an address are their addresses.
gap 'rs *' 'r_texts(*' 'r_texts(0x)'
gap 'rs *' 'r_boxed(*' 'r_boxed(0x)'
gap 'rs *' 'r_option_string(*' 'r_option_string(0x)'
gap 'rs *' 'r_option_vec(*' 'r_option_vec(0x)'

# as_it_is WHERE <PRINTED : with the gaps of this program.
as_it_is() {
  local line row where lines is
  while IFS= read -r line; do
    for row in "${gaps[@]}"; do
      IFS=$'\t' read -r where lines is <<<"$row"
      # shellcheck disable=SC2053  # globs
      [[ $1 == $where && $line == $lines ]] || continue
      if [[ $is == "= "* ]]; then line="${line% = *} $is"; else line=$is; fi
      break
    done
    printf '%s\n' "$line"
  done
}

rows=0
# shown : the lines, without their times. An address is 0x where a gap says so, and clang numbers
# lambdas as it comes to them.
shown() {
  sed -E 's/ <[0-9]+\.[0-9]+ ms>$//
    s/^(r_texts|r_boxed|r_option_string|r_option_vec)\(0x[0-9a-f]+\)/\1(0x)/
    s/\$_[0-9]/$_0/' lines
}
# compare LANGUAGE COMPILER FLAGS… : the program ./table that it has made.
compare() {
  local where=$*
  "$patchbay" calls -o lines "${functions[@]}" -- ./table >printed 2>err
  same "$where: its status" 0 $?
  as_it_is "$where" <printed >expected
  same "$where: as many lines" "$(wc -l <expected)" "$(wc -l <lines)"
  same "$where: each call as the program says it" "" \
    "$(diff expected <(shown))"
  rows=$((rows + $(wc -l <printed)))
}

functions=(-e 'c_*')
for how in "gcc -O0" "gcc -O2" "clang -O0" "clang -O2"; do
  command -v "${how%% *}" >/dev/null || continue
  rm -f table
  # shellcheck disable=SC2086
  check "$how compiles" $how -g -w -o table "$tables.c"
  # shellcheck disable=SC2086
  [[ -x table ]] && compare c $how
done

functions=(-e 't_*' -e 'shop::t_*' -e 'shop::Counter::[a-z]*')
for how in "g++ -O0" "g++ -O2" "clang++ -O0" "clang++ -O2 -fstandalone-debug" \
  "clang++ -O2 -stdlib=libc++ -fstandalone-debug"; do
  command -v "${how%% *}" >/dev/null || continue
  if [[ $how == *libc++* ]] && ! "${how%% *}" -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null \
    <<<'#include <string>'; then
    echo "SKIPPED: libc++ is not installed"
    continue
  fi
  rm -f table
  # shellcheck disable=SC2086
  check "$how compiles" $how -std=c++20 -g -w -o table "$tables.cc"
  # shellcheck disable=SC2086
  [[ -x table ]] && compare cc $how
done

functions=(-e 'r_*')
for how in "rustc -C opt-level=0" "rustc -O"; do
  command -v rustc >/dev/null || { echo "SKIPPED: rustc is not installed"; break; }
  rm -f table
  # shellcheck disable=SC2086
  check "$how compiles" $how -g -o table "$tables.rs" 2>err
  # shellcheck disable=SC2086
  [[ -x table ]] && compare rs $how
done
echo "call_table.sh: $rows rows"
finish
