# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Texts as keys and variables.
L=events/initcall/initcall_level/trigger
G=events/signal/signal_generate/trigger
for command in \
  'keys=comm' \
  'keys=comm,pid' \
  'keys=comm:x=comm' \
  'keys=comm:sort=comm.descending' \
  'keys=comm.hex' \
  'keys=comm:x=comm+1' \
  'keys=comm:x=1+comm' \
  'keys=comm:x=-(comm)' \
  'keys=comm.percent' \
  'keys=comm.execname' \
  'keys=comm.stacktrace' \
  'keys=pid:x=comm:y=$x' \
  'keys=comm if comm == "a"' \
  'keys=sig,comm,pid:vals=code:sort=comm,pid'; do
  hist_try "$G" "$command"
done
for command in 'keys=level' 'keys=level:sort=level' 'keys=common_pid:x=level' \
  'keys=common_pid:x=level+1' 'keys=level,level,level'; do
  hist_try "$L" "$command"
done
hist_clean "$L"
hist_clean "$G"
