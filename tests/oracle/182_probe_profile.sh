# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# The profiles of probes that nothing has met.
put kprobe_events 'p:one vfs_symlink'
put kprobe_events 'p:g/a_name_of_more_than_forty_four_characters_000000 vfs_symlink'
put kprobe_events 'r3:two vfs_symlink'
put kprobe_events 'p:one kfree'
put dynamic_events 'f:three vfs_symlink'
put dynamic_events 'e:four kmem.kfree'
put uprobe_events 'p:one /bin/sh:0x10'
put uprobe_events 'r:g/two /bin/sh:0x11'
r kprobe_profile
r uprobe_profile
w kprobe_profile x
w uprobe_profile x
for file in kprobe_events uprobe_events dynamic_events kprobe_profile uprobe_profile; do
  call mode $file
done
call mode events/kprobes/one/format
call mode events/kprobes/one
