#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same program under patchbay calls, ltrace, uftrace -a and strace: as many calls of each
# function, in the same order, with the same arguments and results, as far as two of them show the
# same (docs/manual/calls.md says where they do not).
#   calls_beside.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc python3
cd "$work" || exit
cat >beside.c <<'EOC'
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int own_sum(int a, long b, const char *text) {
  return a + (int)b + (int)strlen(text);
}
__attribute__((noinline)) int own_depth(int n) { return n ? own_depth(n - 1) + 1 : 0; }
int main(void) {
  char buffer[64];
  int file = open("made", O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  write(file, "a line\n", 7);
  for (int i = 0; i < 3; i++) {
    lseek(file, 2 * i, SEEK_SET);
    read(file, buffer, 4);
  }
  close(file);
  open("/no/such/file", O_WRONLY);
  access("made", R_OK | W_OK);
  access("none", F_OK);
  rename("made", "other");
  unlink("other");
  rmdir("/no/such/directory");
  chdir(".");
  char *value = getenv("BESIDE");
  own_sum(1, 2, value ? value : "");
  own_sum(-1, 100, "four");
  own_depth(3);
  char *copy = strdup("copied");
  if (strcmp(copy, "copied")) return 1;
  free(copy);
  void *memory = calloc(10, 100);
  memory = realloc(memory, 2000);
  free(memory);
  opendir("/no/such/directory");
  if (atoi("42") != 42) return 1;
  return 3;
}
EOC
gcc -O0 -g -w -fno-builtin -o plain beside.c || skip "gcc cannot build the program"
export BESIDE=here

cat >compare.py <<'EOP'
# Lines of patchbay (FILE) and of another tool: "NAME(ARGUMENTS) = RESULT" of each call, made alike.
#   compare.py ltrace|uftrace|strace OURS THEIRS
import re, sys
tool, ours_path, theirs_path = sys.argv[1:]
# What the kernel calls what libc calls otherwise.
KERNEL = {"openat": "open", "newfstatat": "fstatat", "faccessat": "access"}
OWN = "own_sum own_depth".split()
LIBC = """open write lseek read close access rename unlink rmdir chdir getenv strdup strcmp free
    calloc realloc opendir atoi strlen""".split()
SYSTEM = "open write lseek read close access rename unlink rmdir chdir".split()
# Arguments that both tools show alike: others have no names for the bits of a word, or no text.
FIRST = {"open": 1, "access": 1, "lseek": 2, "atoi": 0 if tool == "ltrace" else 1,
         "read": 1, "write": 1}
if tool == "strace": FIRST |= {"open": 2, "access": 2, "lseek": 3}
if tool == "uftrace": FIRST |= {"access": 2, "lseek": 3}
FIRST["strcmp"] = 2
ORDER = re.compile(r"\w+(\|\w+)+")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
# A pointer that nothing is known about is the same everywhere; so is none.
def alike(text):
    text = ADDRESS.sub("POINTER", text.strip()).replace("NULL", "0").replace("nil", "0")
    text = re.sub(r"^0x([0-9a-f]{1,5})$", lambda m: str(int(m[1], 16)), text)
    return "|".join(sorted(text.split("|"))) if ORDER.fullmatch(text) else text
def call(name, arguments, result):
    given = [alike(one) for one in arguments.split(", ")] if arguments else []
    # A text may be shown as the pointer that it is.
    # strace has the errors, too, and a sentence about each.
    result = alike(re.sub(r" \(.*\)$" if tool == "strace" else r" E[A-Z]+$", "", result))
    # A tracer that is in the process has descriptors of its own.
    if name in ("lseek", "read", "write", "close"): given[0] = "FILE"
    if name == "open" and result.isdigit(): result = "FILE"
    if name in ("strdup", "free", "realloc", "calloc"):
        result, given = "", ["POINTER" if one == "POINTER" else one for one in given]
    return f"{name}({', '.join(given[: FIRST.get(name, 9)])}) = {result}"
def lines_of_patchbay(path):
    for line in open(path):
        line = re.sub(r" <[0-9.]+ ms>$", "", line.strip())
        found = re.fullmatch(r"(\w+)\((.*)\)(?: = (.*))?", line)
        if found: yield found[1], found[2], found[3] or ""
def lines_of_ltrace(path):
    for line in open(path):
        found = re.fullmatch(r"(?:\w+->)?(\w+)\((.*?)\)\s+= (.*)", line.strip())
        if found: yield found[1], found[2], "" if found[3] == "<void>" else found[3]
def lines_of_strace(path):
    for line in open(path):
        found = re.fullmatch(r"(\w+)\((.*)\)\s+= (.*)", line.strip())
        if not found: continue
        if "O_DIRECTORY" in found[2]: continue  # opendir()'s
        name = KERNEL.get(found[1], found[1])
        yield name, found[2].removeprefix("AT_FDCWD, "), found[3]
# A call that makes others has two lines; calls stand in the order in which they end.
def lines_of_uftrace(path):
    stack = []
    for line in open(path):
        text = line.split("| ", 1)[-1].strip()
        if found := re.fullmatch(r"(\w+)\((.*)\) \{", text):
            stack.append((found[1], found[2]))
        elif found := re.fullmatch(r"(\w+)\((.*)\)(?: = (.*))?;", text):
            yield found[1], found[2], found[3] or ""
        elif found := re.fullmatch(r"\}(?: = (.*);)? /\* (\w+) \*/", text):
            name, arguments = stack.pop()
            yield name, arguments, found[1] or ""
read = {"ltrace": lines_of_ltrace, "uftrace": lines_of_uftrace, "strace": lines_of_strace}[tool]
names = {"ltrace": LIBC, "uftrace": LIBC + OWN, "strace": SYSTEM}[tool]
if tool == "uftrace": names = [one for one in names if one != "rename"]  # it knows no arguments
def chosen(lines):
    found = [one for one in lines if one[0] in names]
    # Before the program's first call there are the start-up code's.
    begin = next((i for i, one in enumerate(found) if one[1].startswith('"made"')), 0)
    return [call(*one) for one in found[begin:]]
ours, theirs = chosen(lines_of_patchbay(ours_path)), chosen(read(theirs_path))
print(len(ours))
for i, (a, b) in enumerate(zip(ours, theirs)):
    if a != b: print(f"{i}: patchbay {a}\n{i}: {tool} {b}")
if len(ours) != len(theirs): print(f"{len(ours)} calls, and {tool} has {len(theirs)}")
EOP

# The calls that the program itself makes: of its own functions, and through its stubs.
options=(-e own_sum -e own_depth)
for name in open write lseek read close access rename unlink rmdir chdir getenv strdup strcmp \
  free calloc realloc opendir atoi strlen; do
  options+=(-e "$name@plt")
done
"$patchbay" calls -o raw "${options[@]}" -- ./plain >out 2>err
same "its status" 3 $?
sed 's/@plt(/(/' raw >ours
has "a stub has the arguments and errors of its function" "$(cat ours)" \
  '^open\("/no/such/file", O_WRONLY\) = -1 ENOENT <'

compared() {
  python3 compare.py "$1" ours "$2" >compared
  same "$1: how many calls" "$3" "$(head -n 1 compared)"
  same "$1: each call" "" "$(tail -n +2 compared)"
}
if command -v ltrace >/dev/null && ltrace -o theirs ./plain >out 2>&1; [[ -s theirs ]]; then
  compared ltrace theirs 27
else
  echo "SKIPPED: ltrace does not run here"
fi
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  strace -o theirs ./plain >out 2>&1
  compared strace theirs 16
else
  echo "SKIPPED: strace does not run here"
fi
# What is built for uftrace; the same source, the same calls.
gcc -O0 -g -w -fno-builtin -pg -o traced beside.c
if command -v uftrace >/dev/null &&
  uftrace record -a --no-pager -d uf ./traced >out 2>uferr; [[ -d uf ]]; then
  uftrace replay --no-pager -d uf >theirs 2>>uferr
  compared uftrace theirs 32
else
  echo "SKIPPED: uftrace does not run here"
fi
finish
