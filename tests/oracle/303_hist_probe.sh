# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Histograms on probes, which then are busy.
w kprobe_events 'p:hq vfs_fsync a=$arg1 s=+0($arg1):string\n'
H=events/kprobes/hq/trigger
for command in 'keys=a' 'keys=s' 'keys=__probe_ip' 'keys=__probe_ip.sym' \
  'keys=a.hex,s:vals=a:sort=s' 'keys=a:x=s' 'keys=a:x=s+1' 'keys=nosuch'; do
  hist_try "$H" "$command"
done
w kprobe_events '-:hq\n'
call o kprobe_events t
hist_clean "$H"
w kprobe_events '-:hq\n'
r kprobe_events
