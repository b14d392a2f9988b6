#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libpatchbay.so as an object that any process can load, also late and in another root directory:
# what it needs, which versions of libc, how much of the room for thread-local data.
. "$(dirname "$0")/common.bash"
need readelf objdump objcopy

same "it needs libc and the dynamic linker" "ld-linux-x86-64.so.2 libc.so.6" \
  "$(readelf -dW "$agent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | LC_ALL=C sort | xargs)"
same "no library is looked for at a path of its own" 0 \
  "$(readelf -dW "$agent" | grep -cE '\((RPATH|RUNPATH)\)')"

# Versions of libc's symbols: those of Debian 10 and RHEL 8 (2.28). Exceptions would be named here.
same "symbols that an older libc does not have" "" "$(objdump -T "$agent" |
  sed -nE 's/.*\(?GLIBC_([0-9]+)\.([0-9]+)[0-9.]*\)? +(.*)/\1 \2 \3/p' |
  awk '$1 > 2 || $2 > 28 { print $3 "@" $1 "." $2 }' | xargs)"

# These were in libpthread and libdl before 2.34: the agent loads the two where a program has not.
moved='dl(open|close|v?sym|addr1?)|(__)?pthread_(key_create|once|setspecific|getattr_np)|'
moved+='pthread_(mutex_(trylock|consistent)|mutexattr_.*|attr_(getstack|setstacksize))'
same "functions that a program without threads may lack" "" \
  "$(nm -D --undefined-only "$agent" | sed -nE "s/^ +U (($moved)@.*)/\1/p" | xargs)"

# Where libc has none of them and the two libraries are not there either, it does not begin, and
# stands in nobody's way: in this copy of it the names are others, which no libc has.
LC_ALL=C sed -zE "/^($moved)\$/ s/^(dl|_*pthread)/\U&/" "$agent" >"$work/incomplete.so"
forks='echo "$(echo one)"; kill -USR1 $$; (exit 3); echo $?'
cmd=(bash -c "trap 'echo caught' USR1; $forks")
same "a program runs as it is" "$("${cmd[@]}")" \
  "$(LD_PRELOAD=$work/incomplete.so timeout 20 "${cmd[@]}" 2>"$work/log")"
has "it says that it does not begin" "$(<"$work/log")" 'its libpthread or libdl; .* untraced'
same "record runs it" "$("${cmd[@]}")" "$(PATCHBAY_AGENT=$work/incomplete.so timeout 20 \
  "$patchbay" record -e 'getenv(string name)' -o "$work/a.dat" -- "${cmd[@]}" 2>"$work/log")"
has "and says why nothing is there" "$(<"$work/log")" 'without its libpthread or libdl'
sleep 1000 &
sleeps=$!
started $sleeps
has "record -p says it as well" "$(PATCHBAY_AGENT=$work/incomplete.so timeout 20 \
  "$patchbay" record -p $sleeps -e 'getenv(string name)' -o "$work/a.dat" 2>&1)" \
  'without its libpthread or libdl'
kill $sleeps

# Nothing is writable and executable, and what is relocated at the start is read-only afterwards.
same "no segment is writable and executable" 0 \
  "$(readelf -lW "$agent" | grep -cE '^ +(LOAD|GNU_STACK) .*RWE')"
same "relocated data is made read-only" 1 "$(readelf -lW "$agent" | grep -c GNU_RELRO)"

# Static room for thread-local data of libraries that come late is scarce (docs/attach.md).
tls=$((0x$(readelf -lW "$agent" | awk '$1 == "TLS" { print substr($6, 3) }')))
check "it has at most 160 bytes of thread-local data, not $tls" test "$tls" -le 160
same "each of them is found by one load" 1 "$(readelf -dW "$agent" | grep -c STATIC_TLS)"

# The decoder is inside (cmake/enclose_library): it answers, and nobody sees its names.
same "names of the decoder" 0 "$(nm -D "$agent" | grep -c Zydis)"
"$patchbay" record -e 'getenv(string name)' -o "$work/a.dat" -- env true >"$work/log" 2>&1
has "it decodes what it patches" "$(cat "$work/log")" 'record: [1-9][0-9]* events'
# clang's assembler once forgot the names of what the decoder calls in libc: the agent's own first
# byte was called instead.
same "nothing is taken for the agent's own first byte" 0 "$(readelf -rW "$agent" |
  awk '$3 == "R_X86_64_RELATIVE" && $4 ~ /^0+$/' | wc -l)"
same "no decoder library is loaded" 0 \
  "$(LD_PRELOAD=$agent grep -ciE 'libZy(dis|core)' /proc/self/maps)"

# The probe path is built for general registers and without exceptions. An inline function that it
# shares with other code, and that is not inlined, is in the library once: it has to be the probe
# path's. A personality routine there ends a program whose thread is cancelled in it.
hot=$build/lib/libpb_hot.a
nm --defined-only "$hot" | awk '$2 ~ /^[TtWw]$/ { print $3 }' | sort -u >"$work/hot"
nm --defined-only "$agent" | awk '$2 ~ /^[TtWw]$/ { print $3, $1 }' | sort -u >"$work/all"
readelf --debug-dump=frames "$agent" 2>/dev/null | awk '
  / CIE$/ { cie = $1 } /Augmentation:/ { gsub(/"/, ""); personality[cie] = $2 ~ /P/ }
  / FDE / { split($0, part, "cie="); split(part[2], word, " "); split(part[2], pc, "pc=")
    if (personality[word[1]]) print substr(pc[2], 1, 16) }' | sort -u >"$work/personal"
check "functions of the probe path are found" test \
  "$(join "$work/hot" "$work/all" | wc -l)" -gt 100
check "as are personalities" test -s "$work/personal"
same "functions of the probe path with a personality routine" "" \
  "$(join "$work/hot" "$work/all" | awk 'NR == FNR { has[$1] = 1; next } $2 in has { print $1 }' \
    "$work/personal" - | xargs)"

# What it adds to a program while nothing is traced. The functions of its start lie beside each
# other (cmake/start_order.cmake); where they do not, this is 3.1 MB.
resident() { # PID : KB
  awk '/^Rss:/ { print $2 }' "/proc/$1/smaps_rollup"
}
sleep 1000 &
alone=$!
LD_PRELOAD=$agent PATCHBAY_DIR=$work sleep 1000 &
rests=$!
wait_for 20 "$patchbay" ls "$rests" # it serves
added=$(($(resident "$rests") - $(resident "$alone")))
kill "$alone" "$rests"
most=2048
readelf -p .comment "$agent" | grep -q clang && most=3072 # preset clang optimizes less
check "at rest it adds at most $most KB of resident memory, not $added KB" \
  test "$added" -le "$most"

objcopy --strip-unneeded "$agent" "$work/stripped.so"
size=$(stat -c %s "$work/stripped.so")
check "stripped it has at most 5 MB, not $size bytes" test "$size" -le $((5 << 20))
finish
