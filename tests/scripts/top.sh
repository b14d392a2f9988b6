#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay top: tables for scripts, the screen with its keys, and that the profiler and the terminal
# are left as they were, however it ends.
#   top.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit
program=$programs/graph_calls
mkfifo input
LD_PRELOAD=$agent "$program" stay <input >own 2>live.err &
pid=$!
started $pid
exec 7>input
wait_for 20 "$patchbay" cat $pid function_profile_enabled || fail "the process has no agent"
off() { [[ $("$patchbay" cat $pid function_profile_enabled) == 0 ]]; }

# --- tables
table=$("$patchbay" top --once -d 0.3 -l 'calls_*' $pid)
same "--once" 0 $?
has "head" "$table" "^# patchbay top: process $pid .*graph_calls, 0\.[3-9] s, [0-9]+ functions"
has "columns" "$table" '^ +CALLS +CALLS/s +TIME +%TIME +AVG +FUNCTION$'
has "a function with its figures" "$table" \
  '^ +[1-9][0-9]+ +[1-9][0-9]* +[0-9.]+ [um]?s +[0-9.]+% +[0-9.]+ us +calls_leaf$'
leaf=$(awk '$NF == "calls_leaf" { print $1 }' <<<"$table")
middle=$(awk '$NF == "calls_middle" { print $1 }' <<<"$table")
# CPUs are read one after another, while the program goes on.
check "about three leaves a call ($middle, $leaf)" test $((leaf * 10)) -gt $((middle * 25)) -a \
  $((leaf * 10)) -lt $((middle * 35))
# What was open when the profiler came down to them may end once.
same "others were not asked for" "" "$(awk 'NR > 2 && $NF !~ /^calls_/ && $1 > 1' <<<"$table")"
check "the profiler is off again" off
same "by name" "calls_leaf calls_middle " \
  "$("$patchbay" top --once -d 0.2 -s name -l 'calls_*' -F 'calls_[lm]*' $pid |
    awk 'NR > 2 { printf "%s ", $NF }')"
same "--number: tables" 2 \
  "$("$patchbay" top --number 2 -d 0.2 -l calls_leaf $pid | grep -c '^# patchbay top')"
self=$("$patchbay" top --once -d 0.2 --self -l 'calls_middle' -l calls_leaf $pid)
has "self times" "$self" 'SELF'
"$patchbay" top -l 'calls_*' $pid >out 2>err &
top=$!
started $top
wait_for 20 grep -q calls_leaf out || fail "tables come by themselves when there is no terminal"
kill -INT $top
wait $top
same "Ctrl-C ends it" 0 $?
check "and switches the profiler off" off
"$patchbay" top --once -l calls_leef $pid >out 2>err
same "a function that nothing matches" 1 $?
has "near ones" "$(cat err)" 'did you mean .*calls_leaf'
check "the profiler is off after a mistake" off

# --- a program of its own: the whole run
"$patchbay" top --once -l 'calls_*' -- "$program" >out 2>err
same "a program is run" 0 $?
has "its functions" "$(cat out)" 'calls_recurse$|calls_middle$|patchbay top: process'
# A short one, whose last call is not missed either.
cat >short.c <<'EOC'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void short_call(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void short_last(void) { __asm__ volatile("nop" ::: "memory"); }
int main(int argc, char** argv) {
  (void)argv;
  for (int i = 0; i < 1000; i++) short_call();
  short_last();
  if (argc > 1) _exit(0);
  exit(0);
}
EOC
if ${CC:-cc} -O1 -o short short.c; then
  for _ in 1 2 3; do
    "$patchbay" top --once -s calls -l 'short_*' -- ./short >out 2>err
    same "all calls of a short program" "1000 short_call 1 short_last" \
      "$(awk '$NF ~ /^short_/ { printf "%s%s %s", n++ ? " " : "", $1, $NF }' out)"
    same "nothing to complain about" "" "$(cat err)"
  done
  "$patchbay" top --once -l 'short_*' -- ./short _exit >out 2>err
  has "what could not be read is said" "$(cat err)" 'ended without exit handlers; the last look was'
fi

# --- the screen
cat >screen.py <<'EOP'
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

patchbay, pid = sys.argv[1], sys.argv[2]

class Screen:
    def __init__(self, rows=12, columns=90, words=["-l", "calls_*", pid]):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.process = subprocess.Popen(
            [patchbay, "top", "-d", "0.2", *words],
            stdin=self.slave, stdout=self.slave, stderr=self.slave)
    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    def until(self, pattern, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            if re.search(pattern, self.text): return True
        return False
    def key(self, keys, pattern):
        self.text = ""
        os.write(self.master, keys.encode())
        return self.until(pattern)
    def end(self, pattern=r"\x1b\[\?1049l"):
        seen = self.until(pattern)
        self.process.wait(20)
        return seen and termios.tcgetattr(self.slave) == self.before
    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ECHO

def check(what, ok):
    print(what if ok else "FAIL " + what)

screen = Screen()
check("draws", screen.until(r"calls_leaf") and screen.is_raw())
check("by calls", screen.key("c", r"by calls"))
check("by name", screen.key("n", r"by name"))
check("since the last look", screen.key("i", r"by name since the last look"))
check("filters", screen.key("/middle\r", r"filter: middle.*calls_middle"[:14]))
screen.text = ""
screen.until(r"calls_middle")
check("only those", "calls_leaf" not in screen.text)
check("typed text is shown", screen.key("/abc", r"filter: abc_"))
check("escape leaves it", screen.key("\x1b", r"filter: middle"))
check("pauses", screen.key("p", r"paused"))
check("goes on", screen.key("p", r"by name"))
check("self times", screen.key("s", r"SELF"))
screen.resize(5, 40)
screen.process.send_signal(signal.SIGWINCH)
check("follows the size", screen.until(r"\x1b\[7m.{37,43}\x1b\[0m"))
os.write(screen.master, b"q")
check("q quits, and the terminal is as before", screen.end() and screen.process.returncode == 0)
for name in ("SIGTERM", "SIGHUP", "SIGINT"):
    screen = Screen()
    screen.until(r"calls_leaf")
    screen.process.send_signal(getattr(signal, name))
    check(name, screen.end())
    screen = Screen(words=["-l", "short_*", "--", "./short"])
    check(name + " when its program has ended", screen.until(r"has ended"))
    screen.process.send_signal(getattr(signal, name))
    check(name + " is heeded then", screen.end())
screen = Screen()
screen.until(r"calls_leaf")
screen.process.send_signal(signal.SIGABRT)
check("SIGABRT", screen.end())
EOP
screen=$(timeout 300 python3 screen.py "$patchbay" $pid 2>&1)
same "the screen and its keys" "" "$(grep -E 'FAIL|Error|Traceback' <<<"$screen")"
same "all of them were tried" 23 "$(wc -l <<<"$screen")"
# A signal that kills leaves the profiler on: nobody was there to switch it off.
"$patchbay" write $pid function_profile_enabled 0
python3 - "$patchbay" $pid <<'EOP'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "0.2", "-l", "calls_*", sys.argv[2]])
text = b""
while b"calls_leaf" not in text: text += os.read(fd, 65536)
os.close(fd)  # the terminal is gone
os.waitpid(pid, 0)
EOP
check "a terminal that is gone ends it, and switches the profiler off" off
exec 7>&-
wait $pid
same "the process has ended well" 0 $?
finish
