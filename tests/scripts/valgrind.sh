#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memcheck on the example programs with the agent in them. There is no rseq under valgrind, so this
# is the locked ring: the slower path must count right too, and neither agent nor program may err.
. "$(dirname "$0")/common.bash"
need valgrind

under_valgrind() {
  local name=$1 definition=$2 expected=$3 out
  shift 3
  rm -rf "$PATCHBAY_DIR" && mkdir -m 700 "$PATCHBAY_DIR"
  out=$(PATCHBAY_FUNCTION_EVENTS=$definition PATCHBAY_TRACE_EVENT='functions:*' LD_PRELOAD=$agent \
    timeout 300 valgrind -q --smc-check=all --error-exitcode=97 --log-file="$work/valgrind.log" \
    "$@" 2>"$work/err")
  same "$name: exit status" 0 $?
  same "$name: output" "$("$@")" "$out"
  # DW_OP_deref_size stands in the rule of patchbay_sigreturn; valgrind does without the rule.
  same "$name: valgrind's findings" "" \
    "$(grep -v 'CFI reader: unhandled DW_OP_ opcode 0x94$' "$work/valgrind.log" | head -n 20)"
  # timeout and valgrind's launcher carried the agent too, so there are several files.
  "$patchbay" recover "$PATCHBAY_DIR" -o "$work/$name.dat" >/dev/null 2>&1
  same "$name: events" "$expected" \
    "$(for file in "$work/$name".dat*; do events_of "$file"; done | wc -l)"
}

under_valgrind irq_stack 'do_irq(symbol ip[16] | x64[6] irq_stack[16])' 3 "$examples/irq_stack"
under_valgrind file_ops 'vfs_read_(symbol read+40[0]+16)' 3 "$examples/file_ops"
under_valgrind cpp_shapes 'shapes::thrower(int n)' 100 "$examples/cpp_shapes"
under_valgrind threads 'work(int thread, long i)' 800 "$examples/threads" 4 200
finish
