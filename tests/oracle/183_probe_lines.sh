# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# What a write takes as lines.
f=kprobe_events
w $f '# nothing\n'
w $f '\n\n'
w $f '   \n'
w $f 'p:a kfree # a comment\n'
w $f 'p:b kfree\np:c kfree\n'
w $f 'p:d kfree\np:e nosuch\np:f kfree\n'
last 3 error_log
w $f '  p:g kfree'
w $f '#p:h kfree\np:i kfree\n'
w $f '-:a\n-:nosuch\n-:b\n'
r $f
t $f 'p:z kfree\n'
r $f
t $f ''
r $f
w $f 'p:y kfree\n'
echo >$f
r $f
w dynamic_events 'p:k kfree\nf:k kfree\nt:k kfree\ne:k kmem.kfree\np:u /bin/sh:0x10\n'
r dynamic_events
r kprobe_events
r uprobe_events
t kprobe_events ''
r dynamic_events
t uprobe_events ''
r dynamic_events
w dynamic_events 'x:y z\n'
w dynamic_events 'q\n'
last 3 error_log
t dynamic_events ''
r dynamic_events
