# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The tracer stays while somebody consumes the buffer.
mkdir instances/a
echo vfs_fsync >set_ftrace_filter
echo vfs_fsync >instances/a/set_ftrace_filter
for file in trace_pipe per_cpu/cpu0/trace_pipe per_cpu/cpu0/trace_pipe_raw \
  per_cpu/cpu0/snapshot_raw trace snapshot per_cpu/cpu0/trace; do
  echo "@ $file"
  exec 3<$file
  w current_tracer 'nop\n'
  w current_tracer 'function\n'
  w current_tracer 'nosuch\n'
  r current_tracer
  w instances/a/current_tracer 'function\n'
  w instances/a/current_tracer 'nop\n'
  exec 3<&-
  w current_tracer 'function\n'
  exec 3<$file
  w current_tracer 'nop\n'
  w current_tracer 'function\n'
  r current_tracer
  exec 3<&-
  w current_tracer 'nop\n'
done
exec 3<instances/a/per_cpu/cpu0/trace_pipe_raw 4<instances/a/per_cpu/cpu0/trace_pipe_raw
w current_tracer 'function\n'
w instances/a/current_tracer 'function\n'
exec 3<&-
w instances/a/current_tracer 'function\n'
exec 4<&-
w instances/a/current_tracer 'function\n'
echo nop >current_tracer
echo nop >instances/a/current_tracer
call rmdir instances/a
