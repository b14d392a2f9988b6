#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a recorded program executes is recorded, too: the programs of each command are those that
# strace sees, its output, its messages and its exit status are those that it has without us, and
# nothing of the recording is left.
# shellcheck disable=SC2016  # what stands in '' is for the shells that are recorded
. "$(dirname "$0")/common.bash"
need strace python3 perl make gcc git xargs
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
python=$(python3 -c 'import sys; print(sys.executable)')
place=$work/place
mkdir "$place"
cd "$place" || exit 1
export HOME=$place GIT_CONFIG_NOSYSTEM=1 TMPDIR=/tmp

list() { "$python" "$here/follow_exec.py" "$@"; }
strace_execs() { # PREFIX COMMAND…
  strace -ff -qq -xx -y -s 100000 -e trace=execve,execveat -e signal=none -o "$1" "${@:2}"
}

# same_as_strace NAME COMMAND… : `prepare` makes the folder what it has to be before each run.
prepare() { :; }
same_as_strace() {
  local name=$1 plain plain_status traced
  shift
  prepare
  plain=$("$@" 2>"$work/plain.err" </dev/null)
  plain_status=$?
  prepare
  strace_execs "$work/$name.strace" "$@" >/dev/null 2>&1 </dev/null
  prepare
  traced=$("$patchbay" record -q -o "$work/$name.dat" "${events[@]}" -- "$@" \
    2>"$work/err" </dev/null)
  same "$name: its exit status" "$plain_status" $?
  same "$name: its output" "$plain" "$traced"
  same "$name: its messages" "$(cat "$work/plain.err")" "$(cat "$work/err")"
  same "$name: its programs" "" "$(list compare "$work/$name.strace" "$work/$name.dat")"
}

# --- the ways of libc, in a program that prints what it has got

events=(-e 'traced(int n)')
same_as_strace ways "$programs/exec_ways"
same "ways: what is executed is recorded, each once" 22 \
  "$("$patchbay" report -i "$work/ways.dat" 2>/dev/null | grep -c 'traced(n=42)\|traced: .*42')"

# --- commands

events=(-e 'exit(int status)')
same_as_strace pipe bash -c 'ls / | wc -l'
same_as_strace env env A=1 ls /
same_as_strace cleared env -i /bin/ls /
same_as_strace shell sh -c 'ls / >/dev/null; cat /dev/null; exit 3'
same_as_strace xargs bash -c 'seq 12 | xargs -P4 -n1 sh -c "expr \$0 + 0 >/dev/null"'
same_as_strace perl perl -e \
  'system("true"); system("echo a | cat"); print `echo b`; exec "/bin/ls", "/"'
same_as_strace last_word bash -c 'ls /; exec env true'
same_as_strace missing sh -c 'ls / >/dev/null; /nonexistent/program; no_such_program_here'
# Command lines up to the longest that the kernel takes: ours are no part of what is counted.
cat >long.py <<'PY'
import subprocess

def status(words):
    try:
        return subprocess.run(["/bin/true"] + words).returncode
    except OSError as error:
        return error.strerror

print([status(["x" * 100000] * n) for n in (1, 15, 19)], status(["x"] * 3000))
# The last one that is still taken is found to a byte or two.
few, many = 0, 131000
while few + 64 < many:
    middle = (few + many) // 2
    taken = status(["x" * 100000] * 20 + ["y" * middle])
    if taken == 0:
        few = middle
    else:
        many = middle
print(few // 1024)
PY
same "long command lines" "$("$python" long.py)" \
  "$("$patchbay" record -q -o "$work/long.dat" "${events[@]}" -- "$python" long.py)"
# Of ldd the dynamic linker is one that only lists libraries: ours is not among them.
libraries='ldd /bin/ls | sed "s/ (0x.*//"'
same "ldd: its output" "$(bash -c "$libraries")" \
  "$("$patchbay" record -q -o "$work/ldd.dat" "${events[@]}" -- bash -c "$libraries")"

cat >spawn.py <<'PY'
import multiprocessing, subprocess

def square(n):
    return n * n

if __name__ == "__main__":
    print(subprocess.run(["echo", "a"], capture_output=True, text=True).stdout)
    print(subprocess.run("echo b | cat", shell=True, capture_output=True, text=True).stdout)
    print(subprocess.run(["env"], env={"A": "1"}, close_fds=True, capture_output=True).stdout)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(square, range(5)))
        pool.close()
        pool.join()
PY
same_as_strace python "$python" spawn.py

printf '#!/bin/sh\necho script "$@"\n' >script
printf '#!%s/script with\nnothing\n' "$place" >script_of_script
chmod +x script script_of_script
same_as_strace script "$place/script_of_script" word
same_as_strace script_by_shell sh -c "$place/script_of_script word; $place/script; true"

# --- make, git

for i in 1 2 3 4 5; do echo "int f$i(int n) { return n + $i; }" >"f$i.c"; done
cat >main.c <<'C'
#include <stdio.h>
int f1(int), f2(int), f3(int), f4(int), f5(int);
int main(void) { printf("%d\n", f5(f4(f3(f2(f1(0)))))); return 0; }
C
cat >Makefile <<'M'
.RECIPEPREFIX = >
objects := main.o f1.o f2.o f3.o f4.o f5.o
all: program
> ./program
program: $(objects)
> gcc -o $@ $^
%.o: %.c
> gcc -O1 -c -o $@ $<
M
prepare() { rm -f ./*.o program; }
same_as_strace make make -s -j4

mkdir repository
(
  cd repository || exit 1
  git init -q . 2>/dev/null
  for i in 1 2 3; do
    seq "$i" 200 >"file$i"
    git add . && git -c user.name=a -c user.email=a@b commit -q -m "$i"
  done
)
prepare() {
  rm -rf copy
  cp -r repository copy
}
same_as_strace git git -C copy gc -q
prepare() { :; }

# --- environments: what `env` prints, in its order

# PATCHBAY_DIR is the tool's: a recorded program does not have it.
same_as_strace env_all bash -c 'env -u PATCHBAY_DIR env'
same_as_strace env_one env -i A=1 env
same_as_strace env_none env -i "$(type -P env)"
same_as_strace env_empty_preload env -u PATCHBAY_DIR LD_PRELOAD= bash -c 'env; exec env'
same_as_strace env_preload env -u PATCHBAY_DIR B=2 LD_PRELOAD='libm.so.6  libc.so.6 ' A=1 \
  bash -c 'env; exec env'

# --- what cannot be followed

cp "$(type -P true)" set_id
reasons=(static_hello 'statically linked')
if [[ $EUID == 0 ]] && chown 65534 set_id && chmod 4755 set_id; then
  reasons+=(set_id 'a set-user-id program')
else
  echo "SKIPPED: no set-user-id program without root"
fi
same_as_strace refused sh -c "'$programs/static_hello'; ./set_id; ls /"
processes=$("$patchbay" report -i "$work/refused.dat" --processes)
for ((i = 0; i < ${#reasons[@]}; i += 2)); do
  has "the list of processes says why: ${reasons[i]}" "$processes" \
    "${reasons[i]}: ${reasons[i + 1]}"
done
# It is an event, too, of the thread that executed it, in the place where that was.
skipped=$("$patchbay" report -i "$work/refused.dat" 2>/dev/null)
for ((i = 0; i < ${#reasons[@]}; i += 2)); do
  has "an event says why: ${reasons[i]}" "$skipped" \
    "^ *sh-[0-9]+ .* exec_not_followed: path=[^ ]*${reasons[i]} reason=.*${reasons[i + 1]}"
done
same "each once" $((${#reasons[@]} / 2)) "$(grep -c 'exec_not_followed:' <<<"$skipped")"
shell=$(basename "$(readlink -f "$(type -P sh)")")
"$patchbay" report -i "$work/refused.dat" --exe "$shell" >"$work/of_shell" 2>/dev/null
same "the event is of the shell" $((${#reasons[@]} / 2)) \
  "$(grep -c 'exec_not_followed:' "$work/of_shell")"
if command -v trace-cmd >/dev/null; then
  same "trace-cmd shows it as we do" \
    "$(sed -nE 's/.*(exec_not_followed): *(path=.*)/\1 \2/p' <<<"$skipped")" \
    "$(trace-cmd report -i "$work/refused.dat" 2>/dev/null |
      sed -nE 's/.*(exec_not_followed): *(path=.*)/\1 \2/p')"
fi
"$patchbay" record -o "$work/said.dat" "${events[@]}" -- \
  sh -c "'$programs/static_hello'; true" \
  >/dev/null 2>"$work/err"
has "and so does record" "$(cat "$work/err")" 'statically linked.*static_hello'


# --- limits, and what a program has put into LD_PRELOAD

same_as_strace file_limit bash -c 'ulimit -f 0; ls / | cat; (exit 3); echo $?'
same_as_strace memory_limit bash -c 'ulimit -v 200000; ls /; true'
if unshare -pf --mount-proc true 2>/dev/null; then
  same_as_strace numbers unshare -pf --mount-proc sh -c 'ls /; ls /usr; true'
else
  echo "SKIPPED: no pid namespace without root"
fi
ran=$("$patchbay" report -i "$work/file_limit.dat" --processes)
has "the limit is the reason" "$ran" 'file size limit'
for most in 4 5 9; do
  same_as_strace "descriptors$most" sh -c "ulimit -n $most; ls -d /; exec ls -d /"
  has "$most descriptors: the limit is the reason" \
    "$("$patchbay" report -i "$work/descriptors$most.dat" --processes)" 'descriptor'
done

# What an agent has to say of a program that was executed, the program's user does not see.
same_as_strace sentence sh -c 'PATCHBAY_TRACE_CLOCK=nonsense exec ls -d /'
has "the tool says it" "$("$patchbay" report -i "$work/sentence.dat" --processes)" \
  'ls -d /  # .*There is no such clock'

# Programs that want to have one thread, or give up rights.
same_as_strace alone bash -c 'unshare -r id -u; unshare -r sh -c "ls -d /; true"'
if ((EUID == 0)); then
  same_as_strace rights bash -c 'setpriv --reuid 65534 --regid 65534 --clear-groups id -u'
fi

# One that is killed before it has said anything leaves its directory to the tool.
"$patchbay" record -q -o "$work/early.dat" "${events[@]}" -- sh -c '
  mkdir "$0/99999999"; ln -s "$0"/tree-* "$0/99999999/tree"; ls / >/dev/null' "$PATCHBAY_DIR"
same "nothing is left of one that was killed early" "" "$(ls "$PATCHBAY_DIR")"

# A killed tool: the shell goes on, and what the tool has left is taken away.
mkfifo "$work/wait"
"$patchbay" record -q -o "$work/killed.dat" "${events[@]}" -- \
  sh -c "ls / >/dev/null; read x <'$work/wait'; ls / >/dev/null; echo end >'$work/ended'" &
tool=$!
exec 7>"$work/wait"
wait_for 60 test -e "$work/killed.dat"
kill -9 "$tool"
wait "$tool" 2>/dev/null
echo go >&7
exec 7>&-
wait_for 60 test -e "$work/ended"
same "a program outlives its tool" end "$(cat "$work/ended")"
is_clean() {  # what is young is not taken away
  find "$PATCHBAY_DIR" -maxdepth 1 -exec touch -d '-1 hour' {} +
  "$patchbay" clean --all >/dev/null
  [[ -z $(ls "$PATCHBAY_DIR") ]]
}
wait_for 60 is_clean
rm -f "$work"/killed.dat.*.part

# A file that is private stays so, and is the same file by its name.
: >"$work/private.dat"
chmod 600 "$work/private.dat"
"$patchbay" record -q -o "$work/private.dat" "${events[@]}" -- \
  sh -c 'ls / >/dev/null; true'
same "the output keeps its mode" 600 "$(stat -c %a "$work/private.dat")"
same "no part is left" "" "$(find "$work" -name '*.part' -o -name '*.merged')"

# --- choices

# programs_of OPTION… : the words of what is recorded of a shell that starts ls and cat.
programs_of() {
  "$patchbay" record -q -o "$work/choice.dat" "${events[@]}" "$@" -- \
    sh -c 'ls / >/dev/null; cat /dev/null; true'
  "$patchbay" report -i "$work/choice.dat" 2>/dev/null | sed -n 's/^ *\([a-z]*\)-[0-9].*/\1/p' |
    sort -u | paste -sd' '
}
same "all are followed" "cat ls" "$(programs_of)"
same "also where others may have the function" "cat ls" "$(programs_of --follow)"
same "nobody is followed" "" "$(programs_of --no-follow)"
same "only one is followed" "cat" "$(programs_of --follow-only cat)"
same "by its path" "ls" "$(programs_of --follow-only '/*/ls')"

same "nothing is left of a recording" "" "$(ls "$PATCHBAY_DIR")"
finish
