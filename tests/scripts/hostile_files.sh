#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files of others that the program, the agent and the tool read: debug files that are cut short in
# place while they are read, FIFOs, devices and links where a debug file would be. Neither the
# program nor the tool ends by it, and nobody waits.
. "$(dirname "$0")/common.bash"
need gcc objcopy strip python3
cd "$work" || exit
{
  printf '#include <poll.h>\n'
  for ((i = 0; i < 400; i++)); do
    printf 'struct s%d { int a; char *b; long c[%d]; };\n' $i $((i + 1))
    printf '__attribute__((noinline)) int work%d(int a, struct s%d *p) {\n' $i $i
    printf '  __asm__ volatile("" ::"r"(p)); return a + %d;\n}\n' $i
  done
  printf 'int main(void) {\n  for (int a = 0;; poll(0, 0, 20)) {\n'
  for ((i = 0; i < 400; i++)); do printf '    a = work%d(a, 0);\n' $i; done
  printf '  }\n}\n'
} >t.c
gcc -O1 -g t.c -o t && objcopy --only-keep-debug t whole && cp whole t.debug && strip t &&
  objcopy --add-gnu-debuglink=t.debug t || fail "t"
in_time() { timeout -k 1 10 "$@"; }

# look_at PID : what makes the agent read its program's symbols.
look_at() {
  in_time "$patchbay" list functions -p "$1" >functions 2>&1
  in_time "$patchbay" cat "$1" available_filter_functions >available 2>&1
  in_time "$patchbay" write "$1" set_ftrace_filter work2 >filter 2>&1
}
# cut_while HOW PID
cut_while() {
  check "$1: the debug file is read" in_time "$patchbay" write "$2" set_ftrace_filter work1
  in_time "$patchbay" write "$2" current_tracer function
  head -c 4096 whole >t.debug # in place, as cp does first
  look_at "$2"
  check "$1: the agent answers" in_time "$patchbay" write "$2" current_tracer nop
  check "$1: the program goes on" kill -0 "$2"
  cp whole t.debug
}
LD_PRELOAD=$agent ./t &
pid=$!
started $pid
wait_for 30 "$patchbay" ls $pid
cut_while preloaded $pid
# A directory of a process whose user has put a link to another one's buffer there.
mkdir -m 700 "$PATCHBAY_DIR/12"
ln -s "$PATCHBAY_DIR/$pid/buffer" "$PATCHBAY_DIR/12/buffer"
ln -s "$PATCHBAY_DIR/$pid/buffer" own
check "one's own link to a buffer is followed" in_time "$patchbay" report -i own >report 2>&1
in_time "$patchbay" report -i "$PATCHBAY_DIR/12" >report 2>&1
same "that of a process's directory is not" 1 $?
has "it says why" "$(cat report)" 'no buffer file'
rm -r "$PATCHBAY_DIR/12"
kill $pid
wait $pid 2>/dev/null
same "preloaded: it has ended as it was told to" 143 $?

./t &
pid=$!
started $pid
if in_time "$patchbay" attach $pid 2>said; then
  cut_while attached $pid
  check "attached: it can be left" in_time "$patchbay" detach $pid 2>/dev/null
else
  echo "SKIPPED in part: $(tail -n 1 said)"
fi

# The tool beside a file that comes and goes.
cat >flip.py <<'PYTHON'
import random, time
whole = open("whole", "rb").read()
with open("t.debug", "r+b", buffering=0) as file:
    while True:
        file.truncate(4096)
        time.sleep(random.random() * 0.002)
        file.seek(4096)
        file.write(whole[4096:])
        time.sleep(random.random() * 0.006)
PYTHON
python3 flip.py &
flips=$!
started $flips
for ((i = 0; i < 15; i++)); do
  in_time "$patchbay" list functions -- ./t >/dev/null 2>said
  status=$?
  in_time "$patchbay" probe -x ./t -V work7 >/dev/null 2>>said
  statuses="$status $?"
  for status in $statuses; do
    check "beside a file that changes: status $status" test "$status" -lt 124
  done
done
kill $flips
wait $flips 2>/dev/null

# --- what is no file
cp whole t.debug
mv t.c source.c
mkfifo t.c
in_time "$patchbay" probe -x ./t -L work7 >said 2>&1
same "a FIFO as a source file: its lines have no text" 0 $?
in_time "$patchbay" probe -n -x ./t 'work7;return*' >said 2>&1
has "nor are they looked through" "$(cat said)" 'is no ordinary file'
rm t.debug
mkdir .debug
mkfifo fifo
plant() {
  rm -f .debug/t.debug
  "$@"
}
for what in "mkfifo .debug/t.debug" "ln -s ../fifo .debug/t.debug" \
  "ln -s /dev/zero .debug/t.debug" "ln -s t.debug .debug/t.debug" "mkdir .debug/t.debug"; do
  # shellcheck disable=SC2086
  plant $what
  in_time "$patchbay" list functions -- ./t >functions 2>&1
  check "$what: list functions ends" test $? -lt 124
  in_time "$patchbay" probe -x ./t -F >said 2>&1
  same "$what: probe says that there is nothing" 1 $?
done
rmdir .debug/t.debug
mkfifo .debug/t.debug
if in_time "$patchbay" attach $pid 2>said; then
  check "a FIFO: the agent answers" in_time "$patchbay" list functions -p $pid >functions 2>&1
  check "a FIFO: it can be left" in_time "$patchbay" detach $pid 2>/dev/null
fi
check "the program goes on" kill -0 $pid
finish
