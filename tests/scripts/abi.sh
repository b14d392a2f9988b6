#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What libpatchbay.so exports, against tests/abi/libpatchbay.symbols: nothing that programs may have
# been linked with goes or changes its version; what is new is declared in a public header; the
# libc's functions that it puts itself before have no version, and references to a version of theirs
# are bound to them.
. "$(dirname "$0")/common.bash"
need nm
list=$here/../abi/libpatchbay.symbols
headers=$here/../../include/patchbay

nm -D --defined-only --with-symbol-versions "$agent" |
  awk '$3 != "PATCHBAY_1" { print $3 }' | LC_ALL=C sort >"$work/exported"
grep -v '^#' "$list" | LC_ALL=C sort >"$work/listed"
same "nothing is gone, and nothing has another version" "" \
  "$(LC_ALL=C comm -13 "$work/exported" "$work/listed")"
while read -r symbol; do
  name=${symbol%@@PATCHBAY_1}
  check "$symbol has a version, being new" test "$name" != "$symbol"
  check "$name is declared in a public header" \
    grep -qrwE "$name|${name#patchbay_}" "$headers"
  echo "new, not yet in tests/abi/libpatchbay.symbols: $symbol"
done < <(LC_ALL=C comm -23 "$work/exported" "$work/listed")

# Versioned references of a program that knows nothing of us.
pattern='libpatchbay.so[^ ]* \[0\]: normal symbol `sigaction'"' \\[GLIBC_[0-9.]+\\]"
bound=$(LD_DEBUG=bindings LD_PRELOAD=$agent "$programs/own_handlers" 2>&1 >/dev/null |
  grep -oE "$pattern")
has "sigaction@GLIBC is ours" "$bound" 'sigaction'
finish
