#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program with static events, compiled with what hardened builds use, in C and C++, by gcc and
# clang: it compiles without a warning, runs the same without the agent, with it and recorded, and
# each event is there.
#   hardened_events.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
include=$here/../../include

cat >"$work/events.c" <<'EOF'
#include <patchbay/trace_event.h>
#include <stdio.h>
PB_TRACE_EVENT(hardened, sold,
               PB_FIELDS(PB_FIELD(int, n), PB_ARRAY(char, till, 8), PB_STRING(who)),
               PB_PRINT("n=%d", REC->n));
PB_TRACE_EVENT(hardened, inside, PB_FIELDS(PB_FIELD(long, n)));
#ifdef __cplusplus
namespace other {
PB_TRACE_EVENT(hardened, nested, PB_FIELDS(PB_FIELD(long, n)));
template <typename T> void use(T n) { PB_TRACE(nested, n); }
}
#define USE other::use
#else
PB_TRACE_EVENT(hardened, nested, PB_FIELDS(PB_FIELD(long, n)));
static void use(int n) { PB_TRACE(nested, n); }
#define USE use
#endif
int main(int argc, char** argv) {
  int n = 0;
  for (; n < 100; n++) {
    PB_TRACE(sold, n, "till", argv[argc - 1]);
    if (PB_TRACE_ENABLED(inside)) PB_TRACE(inside, n);
    USE(n);
  }
  printf("hardened: %d\n", n);
  return 0;
}
EOF
cp "$work/events.c" "$work/events.cc"
echo 'int main(void) { return 0; }' >"$work/empty.c"
cp "$work/empty.c" "$work/empty.cc"

# try COMPILER SOURCE FLAG…
try() {
  local compiler=$1 source=$2 name said
  shift 2
  name="$compiler ${source##*.} $*"
  if ! "$compiler" -O2 "$@" "$work/empty.${source##*.}" -o "$work/program" >/dev/null 2>&1; then
    skipped+=("$name")
    return
  fi
  said=$("$compiler" -O2 -Wall -Wextra -I"$include" "$@" "$work/$source" -o "$work/program" 2>&1)
  same "$name: it compiles without a word" "" "$said"
  same "$name: alone" "hardened: 100 0" "$("$work/program" 2>&1) $?"
  same "$name: with the agent" "hardened: 100 0" \
    "$(timeout -k 5 60 env LD_PRELOAD="$agent" "$work/program" 2>&1) $?"
  timeout -k 5 60 "$patchbay" record -o "$work/events.dat" -e hardened:sold -e hardened:inside \
    -e hardened:nested -- "$work/program" >"$work/out" 2>"$work/err"
  same "$name: recorded" "0 hardened: 100" "$? $(cat "$work/out")"
  same "$name: events" 300 "$(summary_events "$work/err")"
}

skipped=()
for pair in gcc:events.c g++:events.cc clang:events.c clang++:events.cc; do
  compiler=${pair%:*} source=${pair#*:}
  command -v "$compiler" >/dev/null || { skipped+=("$compiler"); continue; }
  try "$compiler" "$source" -fcf-protection=full
  try "$compiler" "$source" -mcmodel=large
  try "$compiler" "$source" -mcmodel=large -fno-pie -no-pie
  try "$compiler" "$source" -fsanitize=kcfi
  try "$compiler" "$source" -flto -fvisibility=hidden -fsanitize=cfi -fuse-ld=lld
  try "$compiler" "$source" -flto -fvisibility=hidden -fsanitize=cfi -fsanitize-cfi-cross-dso \
    -fuse-ld=lld
done
for one in "${skipped[@]}"; do echo "SKIPPED: $one: the compiler here does not have it"; done
finish
