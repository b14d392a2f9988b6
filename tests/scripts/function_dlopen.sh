#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A library that comes and goes while function tracers run: its functions are traced from the moment
# it is loaded, each time, they keep their names when it is gone, and the program goes on as ever.
#   function_dlopen.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
cd "$work" || exit
program=$programs/dlopen_again
plain=$("$program")
calls=${plain%% *}

# The number of its calls in the recording, by name.
recorded() { "$patchbay" report -i t.dat 2>/dev/null | grep -c 'plugin_add'; }
# run TRACER [OPTION…]
run() {
  "$patchbay" record -o t.dat -b 16384 -p "$@" -- "$program" >out 2>err
  same "$*: exit status" 0 $?
  same "$*: output" "$plain" "$(cat out)"
}
# All functions: those of the library too, each time that it is loaded.
run function
got=$(recorded)
same "function: all of its calls" "$calls" "$got"
run function_graph
got=$("$patchbay" graph -i t.dat --flat 2>/dev/null | awk '$NF == "plugin_add" { print $5 }')
same "function_graph: all of its calls" "$calls" "${got:-0}"
# A line that waits for the library is used up by the first load, as in the kernel; the functions
# that it has found are traced again each time that the library comes back.
for tracer in function function_graph; do
  run $tracer -l 'plugin_*:mod:plugin_so*'
  has "$tracer: it is said that it waits" "$(cat err)" 'no such library is loaded yet'
  # An exit has a line of its own when something came between.
  lines=$(recorded)
  got=$("$patchbay" report -i t.dat 2>/dev/null | grep -v funcgraph_exit | grep -c plugin_add)
  same "$tracer with a line that waits: all of its calls" "$calls" "$got"
  same "$tracer: nothing else" "$lines" \
    "$("$patchbay" report -i t.dat 2>/dev/null | grep -c '^[^#]')"
done
finish
