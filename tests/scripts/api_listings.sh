#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The listings of the kernel's document on its in-kernel event API, as C11 and as C++20, and what
# they leave in `trace`.
. "$(dirname "$0")/common.bash"

[[ -x $programs/api_kernel_listings ]] || skip "it is not built"
expected=$(cat "$here/api_listings.expected")
# What differs from run to run.
settled() {
  sed -E 's/cpu=[0-9]+/cpu=N/; s,\+0x0/0x[0-9a-f]+\),+0x0/N),; s/(dfd|mode)=0x[0-9a-f]+/\1=N/g
    s,\([a-z_]+\+0x[0-9a-f]+/0x[0-9a-f]+ <-,(main+N/N <-,'
}
for program in api_kernel_listings api_kernel_listings_cxx; do
  same "$program" "$expected" "$("$programs/$program" 2>"$work/err" | settled)"
  same "$program says nothing else" "" "$(cat "$work/err")"
done

finish
