#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs into a folder of its own and builds a program with the installed CMake package, and one
# with pkg-config; both carry the agent and run.
. "$(dirname "$0")/common.bash"
need cmake ninja g++

# What nobody has built yet, for tools/demo builds tool and agent alone, is built by that.
rm -f "$build/man/patchbay-attach.1"
check "install" cmake --install "$build" --prefix "$work/usr" >"$work/install.log" 2>&1
for file in bin/patchbay share/doc/patchbay/LICENSE share/bash-completion/completions/patchbay \
  share/zsh/site-functions/_patchbay share/fish/vendor_completions.d/patchbay.fish; do
  check "$file is there" test -e "$work/usr/$file"
done
library=$(find "$work/usr" -name 'libpatchbay.so.0')
check "the library is there" test -e "$library"
for file in bin/patchbay "${library#"$work/usr/"}"; do
  path=$(readlink -f "$work/usr/$file")
  symbols=$(dirname "$path")/.debug/$(basename "$path").debug
  same "$file is stripped" 0 "$(readelf -SW "$path" | grep -cE ' \.(symtab|debug_info) ')"
  has "$file: its symbols lie beside it" "$(readelf -SW "$symbols" 2>/dev/null)" ' \.symtab '
  same "$file: and belong to it" "$(readelf -n "$path" | sed -n 's/.*Build ID: //p')" \
    "$(readelf -n "$symbols" 2>/dev/null | sed -n 's/.*Build ID: //p')"
done
"$work/usr/bin/patchbay" record -e 'getenv(string name)' -o "$work/a.dat" -- env true \
  >"$work/record.log" 2>&1
has "the installed tool records with the installed agent" "$(cat "$work/record.log")" \
  'record: [1-9][0-9]* events'
has "its soname" "$(readelf -d "$library")" 'SONAME.*libpatchbay\.so\.0'
# It exports its own names and the libc functions that it stands before, no C++ and nobody else's.
same "its exports" "" "$(nm -D --defined-only "$library" | awk '{ print $3 }' |
  grep -E "^(_Z|pb_|probe_|Zy|__cxa|main$)" | head -n 5)"
mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(patchbay 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer PRIVATE patchbay::agent)
target_compile_features(consumer PRIVATE cxx_std_20)
target_link_options(consumer PRIVATE -Wl,--no-as-needed)
CMAKE
{
  for header in "$work"/usr/include/patchbay/*.{h,hpp}; do
    [[ -e $header ]] && echo "#include <patchbay/$(basename "$header")>"
  done
  echo '#include <cstdio>'
  echo 'int main() { std::puts("the agent is in"); }'
} >"$work/consumer/consumer.cc"
check "the consumer configures" cmake -S "$work/consumer" -B "$work/consumer/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/usr" >"$work/configure.log" 2>&1
check "the consumer builds" cmake --build "$work/consumer/build" >"$work/build.log" 2>&1
same "the consumer runs" "the agent is in" "$("$work/consumer/build/consumer")"
has "it is linked to the agent" "$(readelf -d "$work/consumer/build/consumer")" \
  'NEEDED.*libpatchbay'
pc=$(find "$work/usr" -name patchbay.pc)
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --libs --cflags patchbay)
has "pkg-config" "$flags" '-lpatchbay'
echo '#include <patchbay/patchbay.h>
int main(void) { return 0; }' >"$work/plain.c"
# shellcheck disable=SC2086  # words
check "pkg-config follows the prefix" cc "$work/plain.c" -o "$work/plain" $flags
mv "$work/usr" "$work/moved"
# shellcheck disable=SC2046  # words
check "also when it is moved" cc "$work/plain.c" -o "$work/plain" $(
  PKG_CONFIG_PATH=$(dirname "${pc/"$work/usr"/"$work/moved"}") pkg-config --libs --cflags patchbay)
mv "$work/moved" "$work/usr"
for header in api_names kernel patchbay subscribe ftrace trace trace_event trace_events; do
  check "$header.h is there" test -e "$work/usr/include/patchbay/$header.h"
done
check "patchbay.hpp is there" test -e "$work/usr/include/patchbay/patchbay.hpp"
check "a page of a header" test -s "$work/usr/share/man/man3/patchbay_trace_events.3"
if command -v scdoc >/dev/null; then
  check "a man page for the tool" test -s "$work/usr/share/man/man1/patchbay.1"
  commands=$("$patchbay" completions table | python3 -c 'import json, sys
print(*json.load(sys.stdin))')
  check "the commands are known: $commands" test "$(wc -w <<<"$commands")" -gt 35
  for name in $commands; do
    check "man patchbay-$name" test -s "$work/usr/share/man/man1/patchbay-$name.1"
  done
  has "man patchbay-show is that of start" "$(cat "$work/usr/share/man/man1/patchbay-show.1")" \
    '^\.so man1/patchbay-start\.1$'
  check "one for its configuration" test -s "$work/usr/share/man/man5/patchbay.conf.5"
fi
has "static events link nothing" "$(cat "$work/usr/share/man/man3/patchbay_trace_event.3")" \
  '^Nothing is linked'

check "uninstall" cmake -D "manifest=$build/install_manifest.txt" \
  -P "$here/../../cmake/uninstall.cmake"
same "uninstall leaves nothing" "" "$(find "$work/usr" -type f -o -type l)"
finish
