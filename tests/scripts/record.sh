#!/bin/bash
# SPDX-License-Identifier: MIT
# patchbay record, as a user meets it: exit statuses, refusals, signals, a full disk. $1: the build.
set -u
patchbay=$1/bin/patchbay
[ -x "$patchbay" ] || { echo "no $patchbay"; exit 77; }
[ -e "$1/lib/libpatchbay.so" ] || { echo "no libpatchbay.so in $1/lib"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" && export PATCHBAY_DIR=$work/run
failures=0
ok() { echo "ok: $1"; }
bad() { echo "FAILED: $1"; sed 's/^/    /' err out 2>/dev/null; failures=$((failures + 1)); }
check() { local what=$1; shift; if "$@"; then ok "$what"; else bad "$what"; fi; }
# expect STATUS WHAT COMMAND…: its exit status; output in out and err.
expect() {
  local status=$1 what=$2; shift 2
  timeout 60 "$@" >out 2>err; local got=$?
  if [ $got = "$status" ]; then ok "$what"; else bad "$what (status $got, not $status)"; fi
}
says() { if grep -q -- "$1" err; then ok "  says: $1"; else bad "  does not say: $1"; fi; }
event='getenv(string name)'

expect 0 "a program is recorded" "$patchbay" record -e "$event" -o a.dat -- env PB_TEST=1 true
says '^\[ patchbay record: [1-9][0-9]* events, .* in a.dat; lost 0 (cpu0 0'
check "its process directory is removed" test -z "$(ls -A run)"
expect 0 "the report shows it" "$patchbay" report -i a.dat
check "with the string" grep -q 'getenv(name=[A-Z]' out
if command -v trace-cmd >/dev/null; then
  check "trace-cmd shows it, too" \
    bash -c 'trace-cmd report a.dat 2>/dev/null | grep -q "getenv.*name="'
fi
expect 3 "the exit status is passed on" "$patchbay" record -q -e "$event" -o a.dat -- sh -c 'exit 3'
check "and -q is quiet" test ! -s err
expect 143 "so is the signal" "$patchbay" record -q -e "$event" -o a.dat -- sh -c 'kill $$'
expect 0 "--print prints" "$patchbay" record --print -e "$event" -o a.dat -- env true
check "the events" grep -q 'getenv(name=' out
expect 0 "version 6" "$patchbay" record --format 6 -e "$event" -o a.dat -- env true

# --- tracers, and what small buffers lose
for tracer in function function_graph; do
  expect 0 "-p $tracer" "$patchbay" record -q -t $tracer -l getenv -o a.dat -- env true
  expect 0 "is reported" "$patchbay" report -i a.dat
  check "under its name" test "$(head -n 1 out)" = "# tracer: $tracer"
done
cat >many.c <<'EOC'
__attribute__((noinline)) void many_calls(void) { __asm__ volatile("" ::: "memory"); }
int main(void) {
  for (int i = 0; i < 2000000; i++) many_calls();
  return 0;
}
EOC
if ${CC:-cc} -O1 many.c -o many; then
  expect 0 "small buffers" \
    "$patchbay" record -t function_graph -l many_calls -b 16 -o a.dat -- ./many
  says '% of the events are lost: the buffer of a CPU ([0-9.]* KB) was full. Give it more (-b 1M)'
  lost=$(sed -n 's/.*; lost \([0-9]*\) .*/\1/p' err)
  cp a.dat graph.dat
  expect 0 "their report" "$patchbay" report --stat -i a.dat
  check "the report's losses are the recorder's ($lost)" test "$lost" = \
    "$(sed -n 's/.* on CPU .*, \([0-9]*\) lost$/\1/p' out | awk '{ n += $1 } END { print n + 0 }')"
  for command in graph replay 'report --flame many.svg'; do
    # shellcheck disable=SC2086  # words
    expect 0 "$command of it" "$patchbay" $command -i graph.dat
    says "lost $lost events (cpu"
  done
  expect 0 "graph takes a file" "$patchbay" graph graph.dat many_calls
fi

expect 0 "a size with a unit" "$patchbay" record -b 2MB -e "$event" -o a.dat -- env true
check "and no word of losses where there are none" bash -c '! grep -q "events are lost" err'

# --- callers and stacks in a library that comes by dlopen(), and has gone again at the end
cat >plug.c <<'EOC'
#include <stdlib.h>
__attribute__((noinline)) void *plug_inner(unsigned size) {
  void *memory = malloc(size);
  __asm__ volatile("" ::: "memory");
  return memory;
}
__attribute__((noinline)) void plug_work(unsigned size) {
  free(plug_inner(size));
  __asm__ volatile("" ::: "memory");
}
EOC
cat >loads.c <<'EOC'
#include <dlfcn.h>
int main(int count, char **words) {
  void *library = dlopen("./plug.so", RTLD_NOW);
  ((void (*)(unsigned))dlsym(library, "plug_work"))(123456);
  return count > 1 ? words[1][0] - '0' + dlclose(library) : 0;
}
EOC
if ${CC:-cc} -O1 -fPIC -shared plug.c -o plug.so && ${CC:-cc} -O1 loads.c -o loads; then
  for words in '' 0; do
    # shellcheck disable=SC2086  # words
    expect 0 "a library that comes later${words:+, and goes}" "$patchbay" record -o a.dat \
      -e 'malloc(size_t n)' -f 'n == 123456' -O stacktrace -- ./loads $words
    expect 0 "its report" "$patchbay" report -i a.dat
    check "names the caller" grep -q 'plug_inner->malloc(n=123456)' out
    check "and the stack" grep -q '^ => plug_work$' out
  done
fi

# --- the agent's own memory is none of the program's
expect 0 "the agent's allocations" "$patchbay" record -o a.dat -e 'malloc(size_t n)' \
  -f 'n == 72704' -- cat /dev/null
says '^\[ patchbay record: 0 events'

# --- nothing recorded: why
expect 0 "a function that ls does not call" "$patchbay" record -o a.dat \
  -e 'openat(int dfd, string path, x32 flags)' -- ls /
says 'openat() was not called; ls uses others of its kind: opendir'
expect 0 "a library that does not come" "$patchbay" record -o a.dat -e 'libplug:f(int a)' -- true
says "libplug was not loaded"
expect 0 "a filter" "$patchbay" record -o a.dat -e "$event" -f 'name == "x y"' -- env true
says "no hit fitted its filter 'name == \"x y\"'"
expect 0 "a tracer" "$patchbay" record -o a.dat -t function -l mkfifo -- true
says "no function of -l 'mkfifo' was called"
expect 0 "one of two" "$patchbay" record -o a.dat -e "$event" -e 'mkfifo(string path)' -- env true
says 'mkfifo() was not called'
check "and not the other" bash -c '! grep -q "getenv() was not" err'
expect 0 "with an event" "$patchbay" record -o a.dat -e "$event" -- env true
check "nothing of that is said" bash -c '! grep -q "not called" err'
expect 1 "words behind a function's arguments" "$patchbay" record -e 'open(string path) ret' -- true
says 'int NAME = FUNCTION'
expect 1 "a function that nobody has" "$patchbay" record -e 'opn(*)' -- true
check "libraries of the agent are not named" bash -c '! grep -qE "libZydis|libm[.]so" err'

# --- the program executes another one
for program in "$(type -P true)" "$(type -P sleep) 0.5"; do
  name=$(basename "${program%% *}")
  expect 0 "exec $program" "$patchbay" record --no-follow -e "$event" -o a.dat -- \
    sh -c "exec $program"
  says "has executed .*$name.*, which is not recorded"
  expect 0 "exec $program, followed" "$patchbay" record -e "$event" -o a.dat -- \
    sh -c "exec $program"
  says "2 programs are in the file: .*$name"
done
expect 0 "no exec" "$patchbay" record -e "$event" -o a.dat -- sh -c 'true; :'
check "is not called one" bash -c '! grep -q "has executed" err'

# --- what dead processes have left
agent=$1/lib/libpatchbay.so
LD_PRELOAD=$agent sh -c 'kill -9 $$' 2>/dev/null
empty=$(ls run)
cat >killed.c <<'EOC'
#include <signal.h>
#include <stdlib.h>
int main(void) { return getenv("PB_TEST") ? 1 : raise(SIGKILL); }
EOC
${CC:-cc} killed.c -o killed
LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS=$event ./killed & full=$!
wait $full 2>/dev/null
expect 0 "clean -n" "$patchbay" clean -n
check "names what is empty" grep -q "^would remove .*/$empty: .* nothing was recorded" out
check "and does nothing" test -d "run/$empty"
touch -d '2 minutes ago' "run/$empty"
expect 0 "a start removes what is empty" "$patchbay" record -q -e "$event" -o a.dat -- env true
check "that one" test ! -e "run/$empty"
check "a process that is killed leaves its recording" test -e "run/$full/buffer"
expect 0 "clean" "$patchbay" clean
check "keeps what nobody has saved" test -e "run/$full/buffer"
expect 0 "recover" "$patchbay" recover -o c.dat "run/$full"
expect 0 "then clean" "$patchbay" clean
check "removes it" test ! -e "run/$full"
PB_TEST=1 LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS=$event \
  PATCHBAY_TRACE_TRIGGER='getenv.hist:keys=common_pid' ./killed & counted=$!
wait $counted
check "a program that ends leaves its histogram" test -d "run/$counted/hist"
expect 0 "recover" "$patchbay" recover -o c.dat "run/$counted"
expect 0 "then clean" "$patchbay" clean
check "keeps the histogram, which no trace.dat has" test -d "run/$counted/hist"
check "and says so" grep -q "^kept .*/$counted: .*its histograms" out
if [ "$(id -u)" = 0 ]; then
  chown 65534 run "run/$counted" && rm "run/$counted/recovered"
  expect 1 "clean --all of somebody else's" "$patchbay" clean --all
  check "removes nothing" test -d "run/$counted"
  expect 0 "clean -n of it" "$patchbay" clean -n --all
  expect 0 "recover of it" "$patchbay" recover -o c.dat "run/$counted"
  check "writes nothing there" test ! -e "run/$counted/recovered"
  chown 0 run "run/$counted"
fi
expect 0 "clean --all" "$patchbay" clean --all
check "leaves nothing" test -z "$(ls run)"

printf 'int walk(int n) { return n * 2; }\nint main(void) { return walk(0); }\n' >walk.c
if ${CC:-cc} -g -O1 -fno-inline walk.c -o walk; then
  expect 1 "a line that a function has not" "$patchbay" record -e 'walk:99 n' -- ./walk
  says "walk.*99"
  expect 1 "a variable that it has not" "$patchbay" record -e 'walk:0 nn' -- ./walk
  says "no variable 'nn'"
  check "libc is not asked for it" bash -c '! grep -q libc err'
fi

# --- refusals: main() must not have run
touch mark.sh && printf '#!/bin/sh\ntouch ran\n' >mark.sh && chmod +x mark.sh
expect 1 "an unknown function" "$patchbay" record -e 'getenvv(string name)' -o b.dat -- ./mark.sh
says 'did you mean getenv'
expect 1 "a syntax error" "$patchbay" record -e 'getenv(string' -o b.dat -- ./mark.sh
says '^ *^$'
expect 1 "a place that cannot be written" "$patchbay" record -e "$event" -o missing/b.dat -- \
  ./mark.sh
check "the program did not run" test ! -e ran
check "and no output was left" test ! -e b.dat
expect 2 "no event" "$patchbay" record -- ./mark.sh
expect 2 "no program" "$patchbay" record -e "$event"
expect 2 "standard output as a file" "$patchbay" record -e "$event" -o - -- ./mark.sh
expect 2 "a wrong option" "$patchbay" record --nonsense
expect 2 "a wrong command" "$patchbay" recrod
says "Did you mean 'record'"
expect 1 "a missing program" "$patchbay" record -e "$event" -- ./nothing
printf 'int main(void) { return 0; }\n' >static.c
if ${CC:-cc} -static static.c -o static 2>/dev/null; then
  expect 1 "a static program" "$patchbay" record --no-uprobes -e "$event" -- ./static
  says 'statically linked'
fi
if ${CC:-cc} -m32 static.c -o narrow 2>/dev/null; then
  expect 1 "a 32-bit program" "$patchbay" record --no-uprobes -e "$event" -- ./narrow
  says '32-bit'
fi
cp "$(type -P true)" suid && chmod u+s suid
expect 1 "a set-user-id program" "$patchbay" record -e "$event" -- ./suid
says 'set-user-id'
printf 'plain text\n' >text && chmod +x text
expect 1 "no program at all" "$patchbay" record -e "$event" -- ./text

# --- signals: a recorder that is interrupted writes its file
"$patchbay" record -e "$event" -o c.dat -- \
  sh -c 'trap "exit 7" INT TERM; touch up; while :; do sleep 0.1; done' 2>err &
recorder=$!
for _ in $(seq 200); do [ -e up ] && break; sleep 0.05; done
kill -TERM $recorder; wait $recorder; status=$?
check "SIGTERM is passed on, and the status back" test $status = 7
says '^\[ patchbay record: .* in c.dat'
expect 0 "the file can be read" "$patchbay" report -i c.dat

# --- two at once
"$patchbay" record -q -e "$event" -o d.dat -- sh -c 'touch up2; sleep 3' 2>/dev/null &
first=$!
for _ in $(seq 200); do [ -e up2 ] && break; sleep 0.05; done
expect 1 "two recordings into one file are refused" "$patchbay" record -e "$event" -o d.dat -- true
says 'another recording'
expect 0 "two of one program into two files work" "$patchbay" record -q -e "$event" -o e.dat -- \
  env true
expect 0 "list processes shows the other" "$patchbay" list processes
check "as alive" grep -q ' alive ' out
wait $first || bad "the first of two recordings"

# --- what the agent itself calls in a program's threads is no call of the program's
echo 'int main(void) { return 0; }' | "${CC:-cc}" -x c -o nothing -
expect 0 "a program that does nothing" "$patchbay" record -q -o own.dat -e getpid -e gettid \
  -e clock_gettime -e sigaction -e getenv -e mmap -e munmap -e open -e close -e read -e write -- \
  ./nothing
expect 0 "its recording" "$patchbay" report -i own.dat --json
check "has no call of the agent's" eval '! grep -q "" out'

# --- a full disk: the program goes on
if mkdir full && mount -t tmpfs -o size=96k none full 2>/dev/null; then
  expect 1 "a full disk" "$patchbay" record -e 'malloc(size_t n)' -o full/f.dat --mode drop \
    -b 1024 -- \
    sh -c 'i=0; while [ $i -lt 6000 ]; do i=$((i + 1)); x=$(:)$i; done; echo done >alive'
  check "the program has gone on" test -s alive
  says 'No space left on device'
  expect 0 "what was saved can be read" "$patchbay" report -i full/f.dat
  umount full
fi
[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
