#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose functions return in every way that there is, or not at all: exceptions, longjmp,
# tail calls, signals, threads that end, processes, fibers. Each runs without probes, then with a
# return probe on each function that its source names ("// probe:"): same output, same exit status,
# and for the functions that always return ("calls NAME N" in the output) hits and misses add up.
#   returns.sh BUILD_DIR [PROGRAM…]
. "$(dirname "$0")/common.bash"

# start NAME [WORD…] : runs the program up to its first gate. Sets pid; descriptor 3 is its stdin.
start() {
  local name=$1
  shift
  rm -f "$work/in" "$work/gates"
  mkfifo "$work/in"
  RETURN_GATE=$work/gates LD_PRELOAD=$agent \
    "$programs/$name" "$@" <"$work/in" >"$work/out" 2>&1 3>&- &
  pid=$!
  started $pid
  exec 3>"$work/in"
  wait_for 20 "$patchbay" ls $pid || fail "$name: the agent does not answer"
}
go_on() { echo >&3; }
# at_gate NUMBER : until the program has come so far.
at_gate() {
  wait_for 60 eval '(($(stat -c %s "$work/gates") >= '"$1"'))' || fail "it does not come to gate $1"
}
# probe PREFIX NAME… : one return probe a function, all enabled.
probe() {
  local prefix=$1 name
  shift
  for name in "$@"; do
    check "$prefix:$name" \
      "$patchbay" write $pid kprobe_events "$prefix:$name $name ret=\$retval"
  done
  check "enable" "$patchbay" write $pid events/kprobes/enable 1
}
# Until the program has written a line that matches: it is at its last gate then.
wait_for_output() {
  wait_for 60 grep -qE "$1" "$work/out" || fail "$2: no output: $(<"$work/out")"
}
profile() { profile=$("$patchbay" cat $pid kprobe_profile); }
column_of() { awk -v n="$1" -v c="$2" '$1 == n {print $c}' <<<"$profile"; }
finish_program() {
  go_on
  exec 3>&-
  wait $pid
  status=$?
}
functions_of() { sed -n 's|^// probe: ||p' "$here/../programs/$1.cc"; }

# calls_agree NAME : hits + misses of each function against what the program says.
calls_agree() {
  local function calls
  while read -r _ function calls; do
    same "$1: $function: hits and misses add up to the calls" "$calls" \
      "$(($(column_of "$function" 2) + $(column_of "$function" 3)))"
  done < <(grep '^calls ' "$work/out")
}

# The last line of the plain run is the sign that the other one is through as well.
run_both() {
  local name=$1 plain plain_status last
  plain=$(timeout -k 5 60 "$programs/$name" </dev/null 2>&1)
  plain_status=$?
  last=$(tail -n 1 <<<"$plain")
  start "$name"
  # shellcheck disable=SC2046  # words
  probe r $(functions_of "$name")
  go_on
  wait_for 60 grep -qxF -- "$last" "$work/out" || fail "$name: no output: $(<"$work/out")"
  profile
  finish_program
  same "$name: exit status" "$plain_status" "$status"
  same "$name: output" "$plain" "$(<"$work/out")"
  calls_agree "$name"
}

no_misses() {
  local function
  for function in "${@:2}"; do
    same "$1: $function: no call was missed" 0 "$(column_of "$function" 3)"
  done
}

test_programs() {
  local name
  for name in return_values return_exceptions return_signals return_threads return_processes \
    return_fibers return_backtrace return_copied return_personality; do
    run_both $name
    # shellcheck disable=SC2046  # words
    no_misses $name $(functions_of $name)
  done
  run_both return_longjmp # ten million calls that never return
  no_misses return_longjmp ret_jump ret_plain
  run_both return_recursion
  no_misses return_recursion ret_recurse
  run_both return_tailcalls # a chain of 50,000 is longer than what is kept of one return address
  no_misses return_tailcalls ret_first ret_second ret_third
}

test_limit() {
  start return_recursion
  probe r5 ret_recurse
  has "a limit is listed" "$("$patchbay" cat $pid kprobe_events)" '^r5:kprobes/ret_recurse '
  go_on
  wait_for_output '^sum ' limit
  profile
  same "limit: hits" 15 "$(column_of ret_recurse 2)"
  same "limit: misses" 29988 "$(column_of ret_recurse 3)"
  finish_program
}

# gdb sees the real callers; probes that go while their calls are inside leave the returns alone.
test_inside() {
  local stack
  start return_inside
  probe r ret_outer ret_middle ret_waits
  go_on
  at_gate 2 # in ret_waits
  if command -v gdb >/dev/null; then
    stack=$(gdb -q -batch -p $pid -ex bt 2>/dev/null |
      sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([a-z_]*\) (.*/\2/p' |
      grep -E '^(ret_|main)' | tr '\n' ' ')
    same "gdb sees the callers of hooked functions" "ret_waits ret_middle ret_outer main " "$stack"
  fi
  go_on
  at_gate 3 # there again, and the calls before have returned
  check "disable inside" "$patchbay" write $pid events/kprobes/enable 0
  check "remove inside" "$patchbay" write --truncate $pid kprobe_events ""
  go_on
  wait_for_output '^result 45' return_inside
  finish_program
  same "return_inside: exit status" 0 "$status"
  has "return_inside: first result" "$(<"$work/out")" '^result 25$'
}

# Switched on and off while 64 threads are inside: five times, or for three seconds.
test_toggle() {
  local i calls counted end
  start return_toggle
  probe r ret_sum ret_leaf
  go_on
  at_gate 2 # the threads run
  end=$((SECONDS + 3))
  for ((i = 0; i < 5 || (i < 20 && SECONDS < end); i++)); do
    check "off" "$patchbay" write $pid events/kprobes/enable 0
    check "on" "$patchbay" write $pid events/kprobes/enable 1
  done
  go_on
  wait_for_output '^all sums agree' return_toggle
  profile
  calls=$(awk '/^calls ret_leaf/ {print $3}' "$work/out")
  counted=$(($(column_of ret_leaf 2) + $(column_of ret_leaf 3)))
  checks=$((checks + 1))
  ((counted > 0 && counted <= calls)) || fail "toggle: $counted counted of $calls calls"
  finish_program
  same "return_toggle: exit status" 0 "$status"
}

# Code that walks its own stack by return addresses finds them where it has put them. Its calls have
# no return, and are counted; those of ordinary code have one.
test_walked() {
  local output unhooked
  run_both return_walked
  same "walked: calls of ordinary code have their returns" 200 "$(column_of ret_walked 2)"
  same "walked: the others count as missed" 600 "$(column_of ret_walked 3)"
  check "walked: record" "$patchbay" record -q -t function_graph -l ret_walked \
    -o "$work/walked.dat" -- "$programs/return_walked" >"$work/out"
  same "walked: the same output in a graph" "$("$programs/return_walked")" "$(<"$work/out")"
  output=$("$patchbay" record -t function_graph -l ret_walked -o "$work/walked.dat" \
    -- "$programs/return_walked" 2>&1 >/dev/null)
  # The library is known some moments after it was loaded.
  unhooked=$(sed -n 's/.*patchbay record: \([0-9]*\) calls have no return.*/\1/p' <<<"$output")
  checks=$((checks + 1))
  ((${unhooked:-0} >= 400 && unhooked <= 600)) || fail "walked: the summary: $output"
  has "walked: the others have entry and exit" "$output" "$((2 * (800 - unhooked))) events"
}

# real NAME EXPECTED FUNCTIONS COMMAND… : a virtual machine that collects garbage while functions of
# its own are in a graph.
real() {
  local name=$1 expected=$2 output
  check "$name" "$patchbay" record -q -t function_graph -l "$3" -b 64 -o "$work/real.dat" \
    -- "${@:4}" >"$work/out" 2>"$work/err"
  output=$(<"$work/out")
  same "$name: output" "$expected" "$output"
}
with() {
  command -v "$1" >/dev/null && return
  echo "SKIPPED: $1 is not installed"
  return 1
}
test_real() {
  with node && real node ok 'v8::internal::Runtime_AllocateInYoungGeneration*' node -e \
    'let a=[];for(let i=0;i<1e6;i++){a.push({i});if(a.length>1e5)a=[]};console.log("ok")'
  if with java; then
    cat >"$work/T.java" <<'JAVA'
public class T {
  static int deep(int n) { return n == 0 ? new Object[10].length : deep(n - 1) + 1; }
  public static void main(String[] words) throws Exception {
    long end = System.nanoTime() + 3000000000L, sum = 0;
    while (System.nanoTime() < end) {
      String kept = "";
      for (int i = 0; i < 2000; i++) kept = new String(new char[100]) + i;
      try { sum += ((Integer[]) (Object) words).length; } catch (ClassCastException e) { sum++; }
      sum += deep(50);
      System.gc();
    }
    System.out.println(sum > 0 ? "ends" : "");
  }
}
JAVA
    real java ends ':mod:libjvm*' java -XX:TieredStopAtLevel=1 "$work/T.java"
  fi
  if with ocamlopt; then
    cat >"$work/t3.ml" <<'OCAML'
let rec build n = if n = 0 then [] else string_of_int n :: build (n - 1)
let () =
  let sum = ref 0 in
  for i = 1 to 300 do sum := !sum + List.length (build (1000 + i)) done;
  Gc.compact (); print_int !sum; print_newline ()
OCAML
    (cd "$work" && ocamlopt -o t3 t3.ml >/dev/null) || return
    real ocaml 345150 'caml*' "$work/t3"
  fi
}

# Those that end in a jump to one that looks at its return address are none.
test_lookups() {
  local name output
  output=$("$patchbay" record -v -t function_graph -l 'ret_*' -o "$work/lookups.dat" \
    -- "$programs/return_lookups" 2>"$work/err")
  same "lookups: output" "bad 0" "$output"
  for name in ret_next ret_through ret_asks ret_asks_twice; do
    has "lookups: $name is refused" "$(<"$work/err")" "^ *$name .*it ends in a jump to a function"
  done
  has "lookups: the others are there" "$(<"$work/err")" '200 events'
}

# Functions that a graph is asked for and cannot have are named.
test_refused() {
  local output
  output=$("$patchbay" record -v -t function_graph -l two_numbers -l dlsym -o "$work/refused.dat" \
    -- "$programs/calls" 2>&1 >/dev/null)
  has "refused: how many" "$output" '1 of 2 functions have no return probe'
  has "refused: which, and why" "$output" '^ *dlsym \[libc.*its caller'
  output=$("$patchbay" record -t function_graph -l two_numbers -o "$work/refused.dat" \
    -- "$programs/calls" 2>&1 >/dev/null)
  same "refused: nothing is said of none" "" "$(grep 'no return probe' <<<"$output")"
}

# Functions that Go's compiler has made are refused, with the reason, whatever is asked for.
test_go() {
  local output
  objcopy --add-section .gopclntab=/dev/null "$programs/calls" "$work/like_go"
  output=$("$patchbay" record -t function -l two_numbers -o "$work/go.dat" \
    -- "$work/like_go" 2>&1 >/dev/null)
  has "go: no function can be traced" "$output" 'no function that can be traced'
  output=$("$patchbay" record -e 'two_numbers(int a)' -o "$work/go.dat" \
    -- "$work/like_go" 2>&1 >/dev/null)
  has "go: why" "$output" "it is Go's"
  with go || return 0
  mkdir "$work/go"
  cat >"$work/go/g.go" <<'GO'
package main

// int twice(int n) { return 2 * n; }
import "C"
import "fmt"

func leaf(n int) int { return int(C.twice(C.int(n))) + len(fmt.Sprint(n)) }

func grow(n int) int {
  if n == 0 {
    return 0
  }
  kept := make([]int, n)
  return grow(n-1) + leaf(len(kept))
}

func main() {
  all := make(chan int)
  for i := 0; i < 50; i++ {
    go func() { all <- grow(200) }()
  }
  sum := 0
  for i := 0; i < 50; i++ {
    sum += <-all
  }
  fmt.Println(sum)
}
GO
  (cd "$work/go" && HOME=$work/go GOFLAGS=-mod=mod go build -o g g.go >/dev/null 2>&1) ||
    { echo "SKIPPED: go builds no program with C"; return 0; }
  for tracer in function function_graph; do
    same "go: $tracer: output" "$("$work/go/g")" \
      "$(PATCHBAY_FTRACE=$tracer LD_PRELOAD=$agent "$work/go/g" 2>&1)"
  done
}

if (($# > 0)); then
  for name in "$@"; do run_both "$name"; done
  finish
fi
test_programs
test_limit
test_inside
test_toggle
test_walked
test_real
test_refused
test_lookups
test_go
finish
