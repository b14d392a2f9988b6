#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples with which function-based events were introduced, in user space: a symbol and six
# words behind a pointer, two dereferences with a NULL at the end, and a path in user memory.
. "$(dirname "$0")/common.bash"

record() { "$patchbay" record -o "$work/t.dat" -e "$1" -- "$2" >/dev/null 2>"$work/err"; }

record 'do_irq(symbol ip[16] | x64[6] irq_stack[16])' "$examples/irq_stack"
events=$(events_of "$work/t.dat")
same "do_irq: three events" 3 "$(grep -c . <<<"$events")"
has "do_irq: text" "$events" \
  'handle_interrupt->do_irq\(ip=idle_loop\+0x0/0x[0-9a-f]+, irq_stack=[0-9a-f]+,10,246,'
has "do_irq: the other words" "$events" '10,246,7ffc12345678,18,ff\)$'
has "do_irq: the last word changes" "$events" ',18,fd\)$'

record 'vfs_read_(symbol read+40[0]+16)' "$examples/file_ops"
events=$(events_of "$work/t.dat")
same "vfs_read_: three events" 3 "$(grep -c . <<<"$events")"
same "vfs_read_: by name" 2 \
  "$(grep -cE 'vfs_read->vfs_read_\(read=tty_read\+0x0/0x[0-9a-f]+\)$' <<<"$events")"
same "vfs_read_: null" 1 "$(grep -cE 'vfs_read->vfs_read_\(read= *\(null\)\)$' <<<"$events")"

record 'openat(int dfd, string path, x32 flags, x16 mode)' "$examples/open_files"
events=$(events_of "$work/t.dat")
has "openat: maps" "$events" \
  'open_one->openat\(dfd=-100, path=/proc/self/maps, flags=100, mode=0\)$'
has "openat: no such file" "$events" 'openat\(dfd=-100, path=/no/such/file, flags=0, mode=0\)$'
finish
