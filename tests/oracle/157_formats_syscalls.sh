# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
r events/raw_syscalls/sys_enter/format
r events/raw_syscalls/sys_exit/format
for call in open openat openat2 close read write chdir getppid clone clone3 vfork execve \
  exit_group \
  wait4 nanosleep clock_nanosleep mkdir mkdirat symlink symlinkat kill; do
  r events/syscalls/sys_enter_$call/format
  r events/syscalls/sys_exit_$call/format
done
