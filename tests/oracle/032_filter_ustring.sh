# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# .ustring on pointers to text and elsewhere.
f=events/syscalls/sys_enter_openat/filter
for text in 'filename.ustring == "/etc/passwd"' 'filename.ustring ~ "*x*"' 'filename == "x"' \
  'filename ~ "x*"' 'dfd.ustring == "x"' 'filename.ustring == 5' 'filename.ustring < "x"' \
  'filename == 5' 'nosuch.ustring == "x"' 'flags == 5' 'flags & 0x40' 'dfd == -100' \
  'mode == 0644'; do
  w $f "$text\n"
  r $f
done
r error_log
