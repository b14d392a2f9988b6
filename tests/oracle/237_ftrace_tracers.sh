# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Names of tracers that are and are not there.
for one in function function_graph nop; do grep -cw $one available_tracers; done
echo vfs_fsync >set_ftrace_filter
for name in function function_graph nop ' function' 'function\n' func 'function nop' nosuch \
  FUNCTION 'function_graphx' 'nop '; do
  w current_tracer "$name"
  r current_tracer
done
echo nop >current_tracer
