#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The arguments of printf-like functions, as their formats read them: each call of a program that
# prints what is to be shown (call_formats.c), by debug information and by a declaration, of gcc and
# clang; those of libc by name; as fields of function events; in threads.
#   call_formats.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc
cp "$here/call_formats.c" "$work"
cd "$work" || exit

# --- a table of calls
# shown FILE : the lines without their times.
shown() { grep -E '^log_' "$1" | sed 's/ <[0-9.]* ms>$//'; }
declared=(-e 'int log_msg(int level, const char *format, ...)'
  -e 'int log_more(double x, long a, float y, long b, long c, const char *fmt, ...)'
  -e 'int log_deep(long a, long b, long c, long d, long e, long f, const char *format, ...)')
# table HOW COMPILER… : the calls of a program that is compiled so.
table() {
  local how=$1
  shift
  "$@" -w -o formats call_formats.c -lpthread -lm || fail "$how: call_formats.c"
  "$patchbay" calls -o lines -e log_msg -e log_more -e log_deep -- ./formats >want 2>err ||
    fail "$how: $(tail -n 3 err)"
  check "$how: at least 75 calls" test "$(wc -l <want)" -ge 75
  same "$how, by debug information" "" "$(diff <(shown want) <(shown lines) | head -n 6)"
  strip formats
  "$patchbay" calls -o lines "${declared[@]}" -- ./formats >want 2>err ||
    fail "$how: $(tail -n 3 err)"
  same "$how, by a declaration" "" "$(diff <(shown want) <(shown lines) | head -n 6)"
}
# A program without symbols has those of its functions that it exports.
table "gcc -O0" gcc -O0 -g -rdynamic
table "gcc -O2" gcc -O2 -g -rdynamic
[[ -z $(command -v clang) ]] || table "clang -O2" clang -O2 -g -rdynamic
[[ -z $(command -v clang) ]] || table "clang -O0" clang -O0 -g -rdynamic

# --- libc's functions, by name
cat >libc.c <<'EOC'
#include <err.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
int main(void) {
  char text[100], *made = NULL;
  printf("%s has %d of %5.2f\n", "abc", 5, 3.25);
  fprintf(stdout, "%d%c\n", 1, '!');
  fflush(stdout);
  dprintf(1, "%ld %s\n", -7L, "dprintf");
  sprintf(text, "%x %s", 0x1f, "sprintf");
  snprintf(text, sizeof text, "%zu %s", sizeof text, text);
  if (asprintf(&made, "%Lf", 1.5L) > 0) free(made);
  syslog(LOG_DEBUG, "%d of %s", 3, "syslog");
  error(0, 2, "%s: %d", "file", 8);
  error_at_line(0, 0, "f.c", 12, "%s", "at");
  warn("%s", "warned");
  warnx("%d times", 3);
  sscanf("5", "%d", &(int){0});
  errx(0, "%s %g", "bye", 0.5);
}
EOC
names=(printf fprintf dprintf sprintf snprintf asprintf syslog error error_at_line warn warnx errx
  sscanf __isoc99_sscanf)
wanted=()
for name in "${names[@]}"; do wanted+=(-e "$name"); done
gcc -O0 -w -U_FORTIFY_SOURCE -o libc libc.c || fail "libc.c"
"$patchbay" calls -o lines "${wanted[@]}" -- ./libc >out 2>err || fail "libc: $(tail -n 3 err)"
text=$(sed -E 's/ <[0-9.]* ms>$//; s/0x[0-9a-f]{6,}/PTR/; s/&_IO_2_1_stdout_|&stdout/PTR/' lines)
while read -r line; do
  check "libc: $line" grep -qxF -- "$line" <<<"$text"
done <<'EOL'
printf("%s has %d of %5.2f\n", "abc", 5, 3.25) = 19
fprintf(PTR, "%d%c\n", 1, '!') = 3
dprintf(1, "%ld %s\n", -7, "dprintf") = 11
sprintf(PTR, "%x %s", 0x1f, "sprintf") = 10
asprintf(PTR, "%Lf", 1.5) = 8
error(0, 2, "%s: %d", "file", 8)
error_at_line(0, 0, "f.c", 12, "%s", "at")
warn("%s", "warned")
warnx("%d times", 3)
EOL
has "snprintf" "$text" '^snprintf\(PTR, 100, "%zu %s", 100, "'
has "syslog" "$text" '^syslog\((LOG_DEBUG|7), "%d of %s", 3, "syslog"\)'
has "a function that does not return" "$text" '^errx\(0, "%s %g", "bye", 0\.5\)'
check "scanf's is no format of printf" \
  test "$(grep -cE '^(__isoc99_)?sscanf\("5", "%d"\)' lines)" = 1

# Programs of distributions call these.
cat >fortified.c <<'EOC'
#include <stdio.h>
#include <syslog.h>
int main(int argc, char **argv) {
  char text[100], other[100];
  printf("%s %d\n", argv[0] ? "printf" : "", argc);
  fprintf(stdout, "%g %c\n", argc + 0.5, 'c');
  sprintf(text, "%d %s", argc, argv[0] ? "sprintf" : "");
  snprintf(other, (size_t)argc + 50, "%s %Lg", text, argc + 0.5L);
  fflush(stdout);
  dprintf(1, "%lx\n", argc + 30L);
  return puts(other) < 0;
}
EOC
gcc -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -w -o fortified fortified.c || fail "fortified.c"
"$patchbay" calls -o lines -e __printf_chk -e __fprintf_chk -e __sprintf_chk -e __snprintf_chk \
  -e __dprintf_chk -- ./fortified >out 2>err || fail "fortified: $(tail -n 3 err)"
text=$(<lines)
has "__printf_chk" "$text" '^__printf_chk\(0x[0-9]+, "%s %d\\n", "printf", 1\) = 9 <'
has "__fprintf_chk" "$text" '^__fprintf_chk\(.*, 0x[0-9]+, "%g %c\\n", 1\.5, .c.\) = 6 <'
has "__sprintf_chk" "$text" \
  '^__sprintf_chk\(0x[0-9a-f]+, 0x[0-9]+, 100, "%d %s", 1, "sprintf"\) = 9 <'
has "__snprintf_chk" "$text" \
  '^__snprintf_chk\(0x[0-9a-f]+, 51, 0x[0-9]+, 100, "%s %Lg", "1 sprintf", 1\.5\) = 13 <'
has "__dprintf_chk" "$text" '^__dprintf_chk\(1, 0x[0-9]+, "%lx\\n", 0x1f\) = 3 <'

# --- a real program
for count in 3 11; do seq $count >"$count.txt"; done
"$patchbay" calls -o lines -e __printf_chk -e printf -- wc -l 3.txt 11.txt >out 2>err ||
  fail "wc: $(tail -n 3 err)"
same "it prints what it prints" "$(wc -l 3.txt 11.txt)" "$(<out)"
has "wc of coreutils" "$(<lines)" 'printf.*"%\*s", [0-9]+, "11"\) = [0-9]+ <'
has "and the names" "$(<lines)" 'printf.*" %s", "11\.txt"\) = 7 <'

# --- as fields of function events
gcc -O2 -g -w -rdynamic -o formats call_formats.c -lpthread -lm || fail "call_formats.c"
"$patchbay" record -o x.dat -e 'log_msg(int level, string format, ...)' \
  -e 'deep=int n = log_deep(long a, long b, long c, long d, long e, long f, string format, ...)' \
  -- ./formats >want 2>err || fail "record: $(tail -n 3 err)"
text=$(events_of x.dat)
has "of an entry" "$text" \
  '->log_msg\(level=[0-9]+, format=%s has %d of %5.2f, varargs="abc", 5, 3\.25\)$'
has "of a whole call, from the stack" "$text" \
  '->log_deep\(.*f=6, format=%d %s %g %Lg %d, varargs=7, "y", 8\.5, 9\.5, 10\) n=[0-9]+ duration='
same "a filter of the text" 1 "$("$patchbay" record -o y.dat \
  -e 'log_msg(int level, string format, ...)' -f 'varargs ~ "*abc?, 5, 0x1.a*"' -- ./formats 2>&1 \
  >/dev/null | sed -n 's/.*record: \([0-9]*\) events, .*/\1/p')"
if command -v trace-cmd >/dev/null; then
  text=$(trace-cmd report -i x.dat 2>cmd.err)
  has "trace-cmd reads it" "$text" 'format=%s has %d of %5.2f, varargs="abc", 5, 0x1\.ap\+1\)'
  check "and has no doubts" test -z "$(grep -iE 'error|unknown|fail' cmd.err)"
  has "and the whole call" "$text" 'varargs=7, "y", 0x1\.1p\+3, 0x9\.8p\+0L, 10\)'
fi

# --- what cannot be
# refused DEFINITION REGEX : and where.
refused() {
  local said
  said=$("$patchbay" record -o z.dat -e "$1" -- ./formats 2>&1 >/dev/null)
  has "$1" "$said" "$2"
}
refused 'int n = log_msg(int level, ...)' 'is read by a format in front of it'
refused 'int n = log_msg(...)' 'is read by a format in front of it'
refused 'int n = log_msg(string format, ..., int more)' 'is the last of what is passed'
refused 'int n = log_msg(int level, string format[0], ...)' 'is read by a format in front of it'

# --- threads
"$patchbay" record -b 32768 -o x.dat -e log_msg -- ./formats 8 2000 >/dev/null 2>err ||
  fail "threads: $(tail -n 3 err)"
same "nothing is lost" 0 "$(summary_lost err)"
same "each call of 8 threads, and its own arguments" "16000 0" "$("$patchbay" report -i x.dat \
  2>/dev/null | awk '/->log_msg\(/ {
    n++
    sub(/.*->log_msg\(level=/, "")
    split($0, part, /, /)
    ok = part[3] == "varargs=\"t" part[1] "\"" && part[5] == part[4] + 0.5 ")"
    bad += !ok
    seen[part[1], part[4]]++
  } END { for (i in seen) bad += seen[i] != 1; print n + 0, bad + 0 }')"
finish
