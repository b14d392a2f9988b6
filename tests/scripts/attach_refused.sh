#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that cannot take the agent while they run: a sentence for each, and nothing has changed.
. "$(dirname "$0")/common.bash"
cc=${CC:-cc}
command -v "$cc" >/dev/null || skip "there is no compiler"
cd "$work" || exit 1
cat >wait.c <<'END'
#include <unistd.h>
int main(void) {
  for (;;) pause();
}
END
cat >wait32.c <<'END'
void _start(void) {
  for (;;) __asm__ volatile("int $0x80" ::"a"(29));
}
END
cat >wait.go <<'END'
package main

import "time"

func main() {
    for {
        time.Sleep(time.Hour)
    }
}
END

# refused SENTENCE PATTERN PROGRAM… : it runs, is refused with this reason, and runs on.
refused() {
  local sentence=$1 pattern=$2 pid out
  shift 2
  "$@" &
  pid=$!
  started $pid
  wait_for 20 grep -q '^State:.[S]' /proc/$pid/status || fail "$sentence: it does not run"
  out=$("$patchbay" attach $pid 2>&1)
  same "$sentence: the exit status" 1 $?
  has "$sentence: the reason" "$out" "^patchbay attach: process $pid $pattern"
  same "$sentence: one line" 1 "$(wc -l <<<"$out")"
  same "$sentence: nothing is left" "" "$(ls -A "$PATCHBAY_DIR")"
  check "$sentence: it goes on" kill -0 $pid
  kill -9 $pid
  wait $pid 2>/dev/null
}

"$cc" -static wait.c -o static 2>/dev/null && refused "static" "is a static program" ./static
"$cc" -static-pie wait.c -o static_pie 2>/dev/null &&
  refused "static-pie" "is a static program" ./static_pie
"$cc" -m32 -nostdlib -static wait32.c -o i386 2>/dev/null &&
  refused "32 bits" "is not a 64-bit x86 program" ./i386
command -v musl-gcc >/dev/null && musl-gcc wait.c -o musl && refused "musl" "runs with musl" ./musl
export CGO_ENABLED=0 GO111MODULE=off GOCACHE=$work/go
command -v go >/dev/null && go build -o go_wait wait.go &&
  refused "Go" "is a Go program without libc" ./go_wait
"$cc" -fsanitize=thread wait.c -o tsan 2>/dev/null &&
  refused "ThreadSanitizer" "is built with -fsanitize=thread" ./tsan
command -v clang >/dev/null && clang -fsanitize=memory wait.c -o msan 2>/dev/null &&
  refused "MemorySanitizer" "is built with -fsanitize=memory" ./msan

# AddressSanitizer and the agent live together.
if "$cc" -fsanitize=address wait.c -o asan 2>/dev/null; then
  ./asan &
  pid=$!
  started $pid
  wait_for 60 grep -q libasan /proc/$pid/maps || fail "asan: it does not run"
  has "AddressSanitizer: attached" "$("$patchbay" attach $pid 2>&1)" "^attached to process $pid"
  has "AddressSanitizer: detached" "$("$patchbay" detach $pid 2>&1)" "^detached from process $pid"
  same "AddressSanitizer: nothing is left" "" "$(ls -A "$PATCHBAY_DIR")"
  check "AddressSanitizer: it goes on" kill -0 $pid
  kill -9 $pid
  wait $pid 2>/dev/null
fi

"$cc" wait.c -o dynamic
./dynamic &
pid=$!
started $pid
stop_whole $pid
has "a stopped one" "$("$patchbay" attach $pid 2>&1)" "process $pid is stopped: .*kill -CONT"
kill -CONT $pid
same "nothing is left" "" "$(ls -A "$PATCHBAY_DIR")"

# --- a tool that may not make the calls that it needs
cat >denied.py <<'END'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
insns = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, 0x50001),
         (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *insn) for insn in insns)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", len(insns), ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
END
if command -v python3 >/dev/null; then
  # denied CALL NUMBER PATTERN
  denied() {
    local out
    out=$(python3 denied.py "$2" "$patchbay" attach $pid 2>&1)
    same "without $1: the exit status" 1 $?
    has "without $1: the reason" "$out" "^patchbay attach: .*$3"
    same "without $1: one line" 1 "$(wc -l <<<"$out")"
    same "without $1: nothing is left" "" "$(ls -A "$PATCHBAY_DIR")"
  }
  denied pidfd_getfd 438 'pidfd_getfd: Operation not permitted.: it takes Linux 5.6'
  denied ptrace 101 'trace thread [0-9]+: Operation not permitted'
  has "and with them it is attached" "$("$patchbay" attach $pid 2>&1)" "^attached to process $pid"
  "$patchbay" detach $pid >/dev/null
fi

# --- a filter of system calls that ends the program
if command -v python3 >/dev/null; then
  python3 - <<'END' &
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
SOCKET = 41
insns = [(0x20, 0, 0, 0), (0x15, 0, 1, SOCKET), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *insn) for insn in insns)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", len(insns), ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
open("filtered", "w").close()
time.sleep(10000)
END
  pid=$!
  started $pid
  wait_for 20 test -e filtered || fail "the filter is not set"
  has "a filter" "$("$patchbay" attach $pid 2>&1)" \
    "process $pid('s filter of system calls .* ends it at socket| runs under a filter)"
  check "the program lives" kill -0 $pid
  same "nothing is left behind the filter" "" "$(ls -A "$PATCHBAY_DIR")"
fi
finish
