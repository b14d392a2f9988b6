#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The headers on other processors: what includes them compiles without a warning, and has no site in
# its code. The C library's headers are those of this machine, told that a word has 64 bits.
. "$(dirname "$0")/common.bash"
need clang
mkdir -p "$work/inc/bits" "$work/inc/gnu"
printf '#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 0\n' >"$work/inc/bits/wordsize.h"
: >"$work/inc/gnu/stubs.h"
root=$here/../..
cat >"$work/all.h" <<'C'
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>
#include <patchbay/trace_event.h>
PB_TRACE_EVENT(shop, shop_sold, PB_FIELDS(PB_FIELD(int, item), PB_STRING(customer)));
int sold(int item) {
  PB_TRACE(shop_sold, item, "somebody");
  if (PB_TRACE_ENABLED(shop_sold)) patchbay_trace_printk("item=%d\n", item);
  return item;
}
C
cp "$work/all.h" "$work/all.c"
{ echo '#include <patchbay/patchbay.hpp>'; cat "$work/all.h"; } >"$work/all.cc"
for target in aarch64-linux-gnu riscv64-linux-gnu; do
  for code in -fPIE -fPIC -fno-pie; do
    for source in "$work"/all.c "$work"/all.cc; do
      std=gnu11
      [[ $source == *.cc ]] && std=gnu++20
      what="$target $code ${source##*/}"
      clang --target=$target -std=$std -O1 $code -Wall -Wextra -Werror -I"$root/include" \
        -isystem "$work/inc" -isystem /usr/include/c++/12 \
        -isystem /usr/include/x86_64-linux-gnu/c++/12 -isystem /usr/include/x86_64-linux-gnu \
        -S "$source" -o "$work/all.s" 2>"$work/err"
      status=$?
      same "$what: $(head -n 3 "$work/err")" 0 $status
      same "$what: no site" 0 "$(grep -c patchbay_sites, "$work/all.s")"
    done
  done
done
finish
