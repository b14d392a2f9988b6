#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whole calls of functions with random signatures: arguments in every kind of register and on the
# stack, values of 16 bytes and structures by value, results of each type. Ours are line by line
# what the program prints itself.
#   call_signatures.sh BUILD_DIR [FUNCTIONS [SEED]]
. "$(dirname "$0")/common.bash"
need python3
functions=${1:-300} seed=${2:-$RANDOM}
echo "call_signatures.sh: $functions functions, seed $seed"
cd "$work" || exit
for how in "gcc -O0" "gcc -O2" "clang -O2"; do
  command -v "${how%% *}" >/dev/null || continue
  python3 "$here/call_signatures.py" "$seed" "$functions" "$work" "${how%% *}"
  words=()
  while read -r line; do words+=(-e "$line"); done <events
  check "$how" $how -w -o program program.c
  ./program >expected
  "$patchbay" record -q -o x.dat "${words[@]}" -- ./program >said 2>err || fail "$how: $(<err)"
  same "$how: the program's own output" "$(<expected)" "$(<said)"
  "$patchbay" report -i x.dat 2>/dev/null |
    sed -n 's/.*->\(f[0-9]*(.*\) duration=[0-9]*$/\1/p' >ours
  same "$how: as many calls" "$functions" "$(wc -l <ours)"
  same "$how: each as the program says it" "" "$(diff expected ours | head -n 6)"
done
finish
