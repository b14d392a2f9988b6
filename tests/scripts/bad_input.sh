#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wrong input of every kind is refused in a sentence, with exit status 2 for a wrong command line
# and 1 for what the system or a file refuses; a refused recording never harms the program.
. "$(dirname "$0")/common.bash"

# refused STATUS REGEX ARGUMENT… : patchbay ARGUMENT… ends with STATUS and says REGEX on stderr.
refused() {
  local expected=$1 pattern=$2 error status
  shift 2
  error=$(timeout 30 "$patchbay" "$@" 2>&1 >/dev/null </dev/null)
  status=$?
  same "patchbay ${*:0:60}: exit status" "$expected" $status
  has "patchbay ${*:0:60}: its sentence" "$error" "$pattern"
}
record=(record -o "$work/t.dat")
program=("$programs/calls")

refused 2 "Did you mean 'record'" recrod
refused 2 '.' record --no-such-option -- true
refused 2 '.' record
refused 2 '.' report --no-such-option
refused 2 '.' cat
refused 2 '.' cat notapid trace
refused 2 '.' record -m sideways -e 'traced(int n)' -- true
refused 2 '.' record -b 0 -e 'traced(int n)' -- true
refused 2 'with a unit' record -b 64Q -e 'traced(int n)' -- true
refused 2 'with a unit' record -b 4096G -e 'traced(int n)' -- true
refused 2 'standard output' record -o - -e 'traced(int n)' -- true
refused 2 'standard output' recover -o - .
refused 2 '-p x: no process that you may look into has this name' cat -p x trace
refused 1 '^patchbay sql: ' sql -e 'two_numbrs(int a)' \
  'SELECT s.a FROM two_numbers AS s JOIN two_numbers AS e ON s.a = e.a' -- "$programs/calls"

# Functions and definitions.
refused 1 "two_numbers" "${record[@]}" -e 'two_numbrs(int a)' -- "${program[@]}"
refused 1 "Unexpected token" "${record[@]}" -e 'two_numbers(int a ! b)' -- "${program[@]}"
# The agent's own functions are no suggestions.
LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS='patchbay_writ(int n)' /bin/true 2>"$work/err"
has "unknown" "$(cat "$work/err")" 'no function "patchbay_writ"'
check "the agent's own are no suggestions" eval '! grep -q "did you mean" "$work/err"'
refused 1 '\^' "${record[@]}" -e 'two_numbers(int a ! b)' -- "${program[@]}"
refused 1 "Unexpected ending" "${record[@]}" -e 'two_numbers(int a' -- "${program[@]}"
nulls=$(printf 'NULL, %.0s' {1..38}) # six registers, 32 words of the stack
refused 1 "Too many arguments" "${record[@]}" -e "two_numbers(${nulls}int g)" -- "${program[@]}"
refused 1 "Unexpected token" "${record[@]}" -e 'two_numbers(blob a)' -- "${program[@]}"

# Programs that cannot carry the agent.
refused 1 'static' "${record[@]}" --no-uprobes -e 'traced(int n)' -- "$programs/static_hello"
cp "$programs/calls" "$work/setuid" && chmod 4755 "$work/setuid"
if ((EUID == 0)); then chown nobody "$work/setuid" && chmod 4755 "$work/setuid"; fi
refused 1 'set-user-id|setuid' "${record[@]}" -e 'two_numbers(int a)' -- "$work/setuid"
head -c 4096 "$programs/calls" >"$work/foreign"
printf '\xb7' | dd of="$work/foreign" bs=1 seek=18 conv=notrunc status=none  # e_machine: AArch64
chmod 755 "$work/foreign"
refused 1 'x86-64|architecture|aarch64|AArch64' "${record[@]}" -e 'f(int a)' -- "$work/foreign"
head -c 4096 "$programs/calls" >"$work/small"
printf '\x01' | dd of="$work/small" bs=1 seek=4 conv=notrunc status=none  # ELFCLASS32
chmod 755 "$work/small"
refused 1 '32-bit' "${record[@]}" -e 'f(int a)' -- "$work/small"
refused 1 '.' "${record[@]}" -e 'f(int a)' -- "$work/no-such-program"
echo 'int main(void) { return 0; }' >"$work/linker.c"
gcc "$work/linker.c" -o "$work/linker" -Wl,--dynamic-linker="$agent"
refused 1 'linked with another C library .*libpatchbay.*glibc' "${record[@]}" -e 'main()' -- \
  "$work/linker"
gcc "$work/linker.c" -o "$work/linker" -Wl,--dynamic-linker=/lib/ld-musl-none.so.1
refused 1 'dynamic linker /lib/ld-musl-none.so.1, which is not there' "${record[@]}" \
  -e 'main()' -- "$work/linker"
if command -v musl-gcc >/dev/null; then
  musl-gcc "$work/linker.c" -o "$work/musl"
  refused 1 'is linked with musl' "${record[@]}" --no-uprobes -e 'main()' -- "$work/musl"
else
  echo "SKIPPED: musl-gcc is not installed: no real program of musl's"
fi

# What a process sends reaches a terminal without its escape sequences.
escape=$'\e[31m'
said=$("$patchbay" "${record[@]}" -e "two_${escape}numbers(int a)" -- "${program[@]}" 2>&1)
has "an error shows what was sent" "$said" 'two_.x1b\[31mnumbers'
same "an error has no escape sequence" "" "$(grep -F "$escape" <<<"$said")"

# Files.
refused 1 'must be a regular file' record -o /dev/null -e 'two_numbers(int a)' -- "${program[@]}"
refused 1 '.' record -o /no/such/folder/t.dat -e 'two_numbers(int a)' -- "${program[@]}"
refused 1 '.' report -i "$work/none.dat"
refused 1 '.' report -i /etc/passwd
refused 1 '.' dump /etc/passwd
refused 1 '.' recover /etc/passwd -o "$work/r.dat"
refused 1 '.' recover "$work/none" -o "$work/r.dat"
: >"$work/empty"
refused 1 '.' report -i "$work/empty"
refused 1 '.' recover "$work/empty" -o "$work/r.dat"

# Processes.
sleep 60 &
sleeper=$!
started "$sleeper"
refused 1 '.' cat $sleeper function_events
refused 1 '.' cat 4194303 function_events

# A truncated file is refused or read as far as it goes; it never crashes the reader.
"$patchbay" "${record[@]}" -e 'two_numbers(int a)' -- "${program[@]}" >/dev/null 2>&1
size=$(stat -c %s "$work/t.dat")
for ((i = 1; i < 40; i++)); do
  head -c $((size * i / 40)) "$work/t.dat" >"$work/cut.dat"
  timeout 20 "$patchbay" report -i "$work/cut.dat" >/dev/null 2>&1
  status=$?
  check "a file cut at $i/40: status $status" test $status -le 1
done

# Disk full: the program goes on, the tool says so.
mkdir "$work/small.d"
if ((EUID == 0)) && mount -t tmpfs -o size=256k none "$work/small.d" 2>/dev/null; then
  out=$("$patchbay" record -o "$work/small.d/t.dat" -b 16384 -e 'work(int thread, long i)' \
    -- "$examples/threads" 2 200000 2>"$work/err")
  mkdir -m 700 "$work/small.d/run"
  no_room=$(PATCHBAY_DIR=$work/small.d/run "$patchbay" record -o "$work/t2.dat" -b 16384 \
    -e 'work(int thread, long i)' -- "$examples/threads" 2 10 2>&1)
  umount -l "$work/small.d"
  has "no room for the buffer: it is said what to do" "$no_room" \
    'No space left on device; make the buffer smaller \(-b'
  same "disk full: the program went on" "hits 400000" "$out"
  has "disk full: it is said" "$(cat "$work/err")" 'No space|full'
fi

# Two recordings of one program at once do not disturb each other.
"$patchbay" record -o "$work/a.dat" -e 'work(int thread, long i)' -- "$examples/threads" 2 2000 \
  >"$work/a.out" 2>"$work/a.err" &
one=$!
"$patchbay" record -o "$work/b.dat" -e 'work(int thread, long i)' -- "$examples/threads" 2 3000 \
  >"$work/b.out" 2>"$work/b.err"
wait $one
same "two at once: the first" 4000 "$(count_of "$work/a.dat" work)"
same "two at once: the second" 6000 "$(count_of "$work/b.dat" work)"
finish
