#!/bin/bash
# SPDX-License-Identifier: MIT
# What section 6 of the kernel's Documentation/trace/events.rst points to for `hist`: each line of
# Documentation/trace/histogram.rst (Linux 6.12), in its order, in a mount of a program that has
# the document's events. The tables are made again from the document's own lines: what is printed
# has to be what the document prints, but for addresses and the sizes of functions. Where 6.12
# itself no longer does what its document says, this is said here. $1: the build.
. "$(dirname "$0")/common.bash"
. "$here/mounted.bash"
need_mount
need python3

mkfifo "$work/in" "$work/out"
exec 3<>"$work/in" 4<>"$work/out"
start_in_place "$work/in" "$work/out" "$programs/histogram_events" || finish
cd "$mounted" || exit 1
# Lines for the program, "|" for a tab; they are done when it returns.
hit() {
  tr '|' '\t' >&3
  echo 'done' >&3
  read -r -t 60 -u 4 _ || fail "the program does not answer"
}
put() { echo "$2" >"$1"; }
more() { echo "$2" >>"$1"; }
takes() { check "$1 takes: $2" put "$1" "$2" 2>/dev/null; }
takes_more() { check "$1 takes: $2" more "$1" "$2" 2>/dev/null; }
lists() { same "$1 lists it" "$2" "$(grep -v '^#' "$1")"; }
# What the sources of the document's commands have, over several lines: the shell joins them.
said() { sed -n 's/^\[[^]]*\] //p' error_log | tail -n 1; }
# Addresses and sizes are those of this program; the width of the column is not. (That of a text is
# 50 in 6.12, 35 in its document.)
plain() {
  sed -E 's/(child_comm: .{35}) \}/\1                \}/; s/\[[0-9a-f]{9,}\]/[ADDRESS]/;
    s,/0x[0-9a-f]+ *\},/SIZE },; s/[ \t]+$//; s/^ +//'
}
# replayed FILE EVENT FIELDS COLUMN TABLE : the hits of the table are made, and the file has its
# lines, in an order in which COLUMN (a regular expression) is the table's. Entries that are equal
# there may stand in any order.
replayed() {
  local table ours
  table=$(table "$5")
  python3 "$here/hist_replay.py" "$2" "$3" <<<"$table" | hit
  ours=$(grep '^{' "$1")
  same "$1: the table" "$(plain <<<"$table" | sort)" "$(plain <<<"$ours" | sort)"
  same "$1: its order" "$(grep -oE "$4" <<<"$table")" "$(grep -oE "$4" <<<"$ours")"
  same "$1: the totals" "Hits: $(sed -E 's/.*hitcount: +([0-9]+).*/\1/' <<<"$table" |
    awk '{ n += $1 } END { print n }') Entries: $(wc -l <<<"$table") Dropped: 0" \
    "$(sed -n '/^Totals:/,$p' "$1" | tail -n +2 | head -n 3 | xargs)"
}
info() {
  has "$1: its heading" "$(cat "$1")" "^# trigger info: $(sed 's/[][$*().+]/\\&/g' <<<"$2")$"
}
# clean FILE… : no histogram is left there.
clean() { for one; do : >"$one"; done; }
# table NAME : a table of the document.
table() {
  awk -v name="## $1" '/^##/ { on = $0 == name; next } on && NF' "$here/kernel_hist_document.tables"
}

# --- 2.1 a trigger is set, read and removed; parts of the grammar
rx=events/net/netif_rx skb=events/net/netif_receive_skb
has "the list of triggers" "$(cat $rx/trigger)" ' enable_hist disable_hist hist$'
takes $rx/trigger 'hist:keys=skbaddr.hex:vals=len'
lists $rx/trigger 'hist:keys=skbaddr.hex:vals=hitcount,len:sort=hitcount:size=2048 [active]'
hit <<<'rx|3|0xffff88000ad53500|46'
same "the file" "# event histogram
#
# trigger info: hist:keys=skbaddr.hex:vals=hitcount,len:sort=hitcount:size=2048 [active]
#

{ skbaddr: ffff88000ad53500 } hitcount:          3  len:        138

Totals:
    Hits: 3
    Entries: 1
    Dropped: 0" "$(cat $rx/hist)"
takes $rx/trigger '!hist:keys=skbaddr.hex:vals=len'
lists $rx/trigger ''
for size in 128=128 129=256 2048=2048 131071=131072; do
  takes $rx/trigger "hist:keys=len:size=${size%=*}"
  has "sizes are rounded up" "$(cat $rx/trigger)" ":size=${size#*=} "
done
check "no smaller one" eval '! put $rx/trigger hist:keys=len:size=64 2>/dev/null'
check "no larger one" eval '! put $rx/trigger hist:keys=len:size=131073 2>/dev/null'
check "nohitcount needs a value" \
  eval '! put $rx/trigger hist:keys=len:vals=hitcount:nohitcount 2>/dev/null'
same "it says so" "hist:net:netif_rx: error: Non-hitcount value is required for 'nohitcount'" \
  "$(sed -n 's/^\[[^]]*\] //p' error_log | tail -n 1)"
takes $rx/trigger 'hist:keys=len:vals=hitcount.percent:nohitcount'
clean $rx/trigger

# --- enable_hist and disable_hist
exec=events/sched/sched_process_exec exit=events/sched/sched_process_exit
takes $skb/trigger 'hist:keys=skbaddr.hex:vals=len:pause'
takes $exec/trigger 'enable_hist:net:netif_receive_skb if filename==/usr/bin/wget'
takes $exit/trigger 'disable_hist:net:netif_receive_skb if comm==wget'
hit <<'HITS'
skb|1|0xffff88009c353100|60
exec|1|/usr/bin/wget|15108
skb|2|0xffff88009c353100|60
exit|1|bash|15107
skb|4|0xffff88009c352b00|130
exit|1|wget|15108
skb|8|0xffff88009c353100|60
HITS
same "only while wget runs" "{ skbaddr: ffff88009c353100 } hitcount:          2  len:        120
{ skbaddr: ffff88009c352b00 } hitcount:          4  len:        520" "$(grep '^{' $skb/hist)"
takes $exec/trigger '!enable_hist:net:netif_receive_skb if filename==/usr/bin/wget'
takes $exit/trigger '!disable_hist:net:netif_receive_skb if comm==wget'
clean $skb/trigger

# --- special fields
takes $rx/trigger 'hist:keys=common_timestamp.usecs,common_cpu:vals=common_timestamp'
clean $rx/trigger

# --- 6.2 kmalloc: the format; a table of call sites
kmalloc=events/kmem/kmalloc
for field in 'unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;' \
  'unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;' \
  'unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;' \
  'int common_pid;\toffset:4;\tsize:4;\tsigned:1;' \
  'unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;' \
  'const void \* ptr;\toffset:16;\tsize:8;\tsigned:0;' \
  'size_t bytes_req;\toffset:24;\tsize:8;\tsigned:0;' \
  'size_t bytes_alloc;\toffset:32;\tsize:8;\tsigned:0;'; do
  check "kmalloc has $field" grep -qP "^\tfield:$field\$" $kmalloc/format
done
# The document adds .buckets=32 to a value, which 6.12 refuses, and goes on without it.
check "buckets of a value" \
  eval "! put $kmalloc/trigger 'hist:key=call_site:val=bytes_req.buckets=32' 2>/dev/null"
same "are refused" 'hist:kmem:kmalloc: error: Invalid field modifier' "$(said)"
takes $kmalloc/trigger 'hist:key=call_site:val=bytes_req'
listed='vals=hitcount,bytes_req:sort=hitcount:size=2048 [active]'
lists $kmalloc/trigger "hist:keys=call_site:$listed"
replayed $kmalloc/hist kmalloc 'call_site bytes_req bytes_req' 'hitcount: +[0-9]+' 'sums'
takes $kmalloc/trigger '!hist:key=call_site:val=bytes_req'
lists $kmalloc/trigger ''

takes $kmalloc/trigger 'hist:key=call_site.hex:val=bytes_req'
info $kmalloc/hist "hist:keys=call_site.hex:$listed"
replayed $kmalloc/hist kmalloc 'call_site bytes_req bytes_req' 'hitcount: +[0-9]+' 'hex'

# --- symbols: those of the document's functions that this program has
takes $kmalloc/trigger 'hist:key=call_site.sym:val=bytes_req'
info $kmalloc/hist "hist:keys=call_site.sym:$listed"
replayed $kmalloc/hist kmalloc 'call_site bytes_req bytes_req' 'hitcount: +[0-9]+' \
  'symbols'
takes $kmalloc/trigger 'hist:key=call_site.sym:val=bytes_req:sort=bytes_req.descending'
info $kmalloc/hist \
  'hist:keys=call_site.sym:vals=hitcount,bytes_req:sort=bytes_req.descending:size=2048 [active]'
replayed $kmalloc/hist kmalloc 'call_site bytes_req bytes_req' 'bytes_req: +[0-9]+' \
  'symbols by bytes'
takes $kmalloc/trigger 'hist:key=call_site.sym-offset:val=bytes_req:sort=bytes_req.descending'
info $kmalloc/hist 'hist:keys=call_site.sym-offset:vals=hitcount,bytes_req:'\
'sort=bytes_req.descending:size=2048 [active]'
replayed $kmalloc/hist kmalloc 'call_site bytes_req bytes_req' 'bytes_req: +[0-9]+' \
  'offsets'
has "the columns of a symbol with its offset" "$(cat $kmalloc/hist)" \
  '^\{ call_site: \[[0-9a-f]+\] seq_buf_alloc\+0x1b/0x41 {32} \} hitcount:'
takes $kmalloc/trigger \
  'hist:keys=call_site.sym:values=bytes_req,bytes_alloc:sort=bytes_alloc.descending'
info $kmalloc/hist 'hist:keys=call_site.sym:vals=hitcount,bytes_req,bytes_alloc:'\
'sort=bytes_alloc.descending:size=2048 [active]'
replayed $kmalloc/hist kmalloc 'call_site bytes_req bytes_alloc' 'bytes_alloc: +[0-9]+' \
  'two values'

# --- stacks
takes $kmalloc/trigger \
  'hist:keys=common_stacktrace:values=bytes_req,bytes_alloc:sort=bytes_alloc'
info $kmalloc/hist 'hist:keys=common_stacktrace:vals=hitcount,bytes_req,bytes_alloc:'\
'sort=bytes_alloc:size=2048 [active]'
hit <<'HITS'
kmemdup|3|1|7|8
kmalloc|2|1|10|16
kmalloc|1|1|4|8
HITS
# names FILE : the names of the functions only; below main is the C library.
names() {
  sed -E 's/\+0x[0-9a-f]+\/0x[0-9a-f]+.*//; /^ *(__)?libc_start|^ *_start|^ {9}__libc/d' "$1"
}
same "stacks" "{ common_stacktrace:
         __kmalloc
         kmemdup
         main
} hitcount:          3  bytes_req:         21  bytes_alloc:         24
{ common_stacktrace:
         __kmalloc
         main
} hitcount:          3  bytes_req:         24  bytes_alloc:         40" \
  "$(names $kmalloc/hist | sed -n '/^{/,/^}/p')"
has "with offsets" "$(cat $kmalloc/hist)" '^ {9}kmemdup\+0x[0-9a-f]+/0x[0-9a-f]+$'
clean $kmalloc/trigger

# --- processes
enters=events/syscalls/sys_enter_read
takes $enters/trigger 'hist:key=common_pid.execname:val=count:sort=count.descending'
info $enters/hist \
  'hist:keys=common_pid.execname:vals=hitcount,count:sort=count.descending:size=2048 [active]'
replayed $enters/hist read 'count' 'count: +[0-9]+$' 'processes'
clean $enters/trigger

# --- system calls
calls=events/raw_syscalls/sys_enter
takes $calls/trigger 'hist:key=id.syscall:val=hitcount'
info $calls/hist 'hist:keys=id.syscall:vals=hitcount:sort=hitcount:size=2048 [active]'
# 58 is vfork, which 6.12 knows.
replayed $calls/hist syscall 'id' 'hitcount: +[0-9]+' 'system calls'
takes $calls/trigger 'hist:key=id.syscall,common_pid.execname:val=hitcount:sort=id,hitcount'
info $calls/hist 'hist:keys=id.syscall,common_pid.execname:vals=hitcount:'\
'sort=id.syscall,hitcount:size=2048 [active]'
pairs=$(table 'calls of processes')
replayed $calls/hist syscall 'id' '\[ *[0-9]+\],|hitcount: +[0-9]+' 'calls of processes'
takes $calls/trigger \
  'hist:key=id.syscall,common_pid.execname:val=hitcount:sort=id,hitcount if id == 16'
info $calls/hist 'hist:keys=id.syscall,common_pid.execname:vals=hitcount:'\
'sort=id.syscall,hitcount:size=2048 if id == 16 [active]'
python3 "$here/hist_replay.py" syscall id <<<"$pairs" | hit
same "only ioctl" "$(grep -F '[ 16]' <<<"$pairs" )" "$(grep '^{' $calls/hist)"
clean $calls/trigger
receives=events/syscalls/sys_enter_recvfrom
takes $receives/trigger 'hist:key=common_pid.execname,size:val=hitcount:sort=common_pid,size'
info $receives/hist 'hist:keys=common_pid.execname,size:vals=hitcount:'\
'sort=common_pid.execname,size:size=2048 [active]'
replayed $receives/hist recvfrom 'size' '^\{.*\}' 'sizes'
clean $receives/trigger

# --- a text as the key; pause and cont
forks=events/sched/sched_process_fork
takes $forks/trigger 'hist:key=child_comm:val=hitcount:size=256'
info $forks/hist 'hist:keys=child_comm:vals=hitcount:sort=hitcount:size=256 [active]'
replayed $forks/hist fork 'child_comm 77' 'hitcount: +[0-9]+' 'texts'
takes_more $forks/trigger 'hist:key=child_comm:val=hitcount:size=256:pause'
info $forks/hist 'hist:keys=child_comm:vals=hitcount:sort=hitcount:size=256 [paused]'
hit <<<'fork|7|bash|3'
has "paused" "$(cat $forks/hist)" '^\{ child_comm: bash {46} \} hitcount:          3$'
takes_more $forks/trigger 'hist:key=child_comm:val=hitcount:size=256:cont'
info $forks/hist 'hist:keys=child_comm:vals=hitcount:sort=hitcount:size=256 [active]'
hit <<<'fork|2|bash|3'
has "continued" "$(cat $forks/hist)" '^\{ child_comm: bash {46} \} hitcount:          5$'
clean $forks/trigger

# --- paused from the start, run by events, cleared
takes $skb/trigger 'hist:key=common_stacktrace:vals=len:pause'
takes $exec/trigger 'enable_hist:net:netif_receive_skb if filename==/usr/bin/wget'
takes $exit/trigger 'disable_hist:net:netif_receive_skb if comm==wget'
wget() {
  hit <<'HITS'
skb|5|0xffff88009c353100|1000
exec|1|/usr/bin/wget|15108
task|15108|wget
skb|2|0xffff88009c353100|60
skb2|3|0xffff88009c353200|60
task|1382|dnsmasq
skb|1|0xffff88009c352b00|130
exit|1|wget|15108
skb|5|0xffff88009c353100|1000
HITS
}
wget
info $skb/hist 'hist:keys=common_stacktrace:vals=hitcount,len:sort=hitcount:size=2048 [paused]'
stacks="{ common_stacktrace:
         __netif_receive_skb_core
         __netif_receive_skb
         netif_receive_skb_internal
         napi_gro_receive
         main
} hitcount:          3  len:        250
{ common_stacktrace:
         __netif_receive_skb_core
         __netif_receive_skb
         netif_receive_skb_internal
         process_backlog
         main
} hitcount:          3  len:        180"
sorted_stacks() { names "$1" | sed -n '/^{/,/^}/p' | tr '\n' '~' | sed 's/~{/\n{/g' | sort; }
same "the stacks of wget" "$(names <(echo "$stacks") | tr '\n' '~' | sed 's/~{/\n{/g' | sort)" \
  "$(sorted_stacks $skb/hist)"
takes_more $skb/trigger 'hist:key=common_stacktrace:vals=len:clear'
same "cleared" "# event histogram
#
# trigger info: hist:keys=common_stacktrace:vals=hitcount,len:sort=hitcount:size=2048 [paused]
#


Totals:
    Hits: 0
    Entries: 0
    Dropped: 0" "$(cat $skb/hist)"
# (6.12 drops enable_hist too when the file is opened with the document's ">".)
takes_more $exec/trigger 'enable_event:net:netif_receive_skb if filename==/usr/bin/wget'
takes_more $exit/trigger 'disable_event:net:netif_receive_skb if comm==wget'
lists $exec/trigger 'enable_event:net:netif_receive_skb:unlimited if filename==/usr/bin/wget
enable_hist:net:netif_receive_skb:unlimited if filename==/usr/bin/wget'
# (The document shows enable_event in its second listing, which is a slip of the pen.)
lists $exit/trigger 'disable_event:net:netif_receive_skb:unlimited if comm==wget
disable_hist:net:netif_receive_skb:unlimited if comm==wget'
takes options/hash-ptr 0 # as it was when the document was written
: >trace
wget
same "the same again" "$(names <(echo "$stacks") | tr '\n' '~' | sed 's/~{/\n{/g' | sort)" \
  "$(sorted_stacks $skb/hist)"
same "and its events" "wget-15108 netif_receive_skb: dev=lo skbaddr=ffff88009c353100 len=60
wget-15108 netif_receive_skb: dev=lo skbaddr=ffff88009c353100 len=60
wget-15108 netif_receive_skb: dev=lo skbaddr=ffff88009c353200 len=60
wget-15108 netif_receive_skb: dev=lo skbaddr=ffff88009c353200 len=60
wget-15108 netif_receive_skb: dev=lo skbaddr=ffff88009c353200 len=60
dnsmasq-1382 netif_receive_skb: dev=lo skbaddr=ffff88009c352b00 len=130" \
  "$(sed -nE 's/^ *(.*-[0-9]+) +\[.*: (netif.*)/\1 \2/p' trace)"
takes options/hash-ptr 1
for event in hist event; do
  takes $exec/trigger "!enable_$event:net:netif_receive_skb"
  takes $exit/trigger "!disable_$event:net:netif_receive_skb"
done
clean $skb/trigger

# --- several on one event
takes_more $skb/trigger 'hist:keys=skbaddr.hex:vals=len if len < 0'
takes_more $skb/trigger 'hist:keys=skbaddr.hex:vals=len if len > 4096'
takes_more $skb/trigger 'hist:keys=skbaddr.hex:vals=len if len == 256'
takes_more $skb/trigger 'hist:keys=skbaddr.hex:vals=len'
takes_more $skb/trigger 'hist:keys=len:vals=common_preempt_count'
hit <<'HITS'
skb|1|0xffff88009fd2c300|7212
skb|2|0xffff8800d2bcdc00|12210
skb|66|0xffff88005f3d5600|1280
HITS
totals() { printf '\nTotals:\n    Hits: %s\n    Entries: %s\n    Dropped: 0\n' "$1" "$2"; }
head() {
  printf '# event histogram\n#\n'
  printf '# trigger info: hist:%s:sort=hitcount:size=2048%s [active]\n#\n\n' "$1" "$2"
}
same "all five (6.12: in the order in which they came)" "$(
  head keys=skbaddr.hex:vals=hitcount,len ' if len < 0'
  totals 0 0
  printf '\n\n'
  head keys=skbaddr.hex:vals=hitcount,len ' if len > 4096'
  printf '{ skbaddr: %s } hitcount: %10d  len: %10d\n' ffff88009fd2c300 1 7212 \
    ffff8800d2bcdc00 2 24420
  totals 3 2
  printf '\n\n'
  head keys=skbaddr.hex:vals=hitcount,len ' if len == 256'
  totals 0 0
  printf '\n\n'
  head keys=skbaddr.hex:vals=hitcount,len ''
  printf '{ skbaddr: %s } hitcount: %10d  len: %10d\n' ffff88009fd2c300 1 7212 \
    ffff8800d2bcdc00 2 24420 ffff88005f3d5600 66 84480
  totals 69 3
  printf '\n\n'
  head keys=len:vals=hitcount,common_preempt_count ''
  printf '{ len: %10d } hitcount: %10d  common_preempt_count:          0\n' 7212 1 12210 2 1280 66
  totals 69 3
)" "$(cat $skb/hist)"
unset -f head
clean $skb/trigger

# --- named ones
takes $skb/trigger 'hist:name=foo:keys=skbaddr.hex:vals=len'
takes $rx/trigger 'hist:name=foo:keys=skbaddr.hex:vals=len'
hit <<'HITS'
rx|1|0xffff88000ad53500|46
skb|2|0xffff8800af5a1500|76
rx|3|0xffff8800af5a1500|1
HITS
for file in $skb/hist $rx/hist; do
  same "$file: what both hit" "# event histogram
#
# trigger info: hist:name=foo:keys=skbaddr.hex:vals=hitcount,len:sort=hitcount:size=2048 [active]
#

{ skbaddr: ffff88000ad53500 } hitcount:          1  len:         46
{ skbaddr: ffff8800af5a1500 } hitcount:          5  len:        155

Totals:
    Hits: 6
    Entries: 2
    Dropped: 0" "$(cat $file)"
done
clean $skb/trigger $rx/trigger
takes $forks/trigger 'hist:name=bar:key=common_stacktrace:val=hitcount'
takes $rx/trigger 'hist:name=bar:key=common_stacktrace:val=hitcount'
hit <<'HITS'
fork|1|kthread|9
rx|2|1|46
HITS
for file in $forks/hist $rx/hist; do
  info $file 'hist:name=bar:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]'
  same "$file: stacks of both" "{ common_stacktrace:
         kernel_clone
         main
} hitcount:          1
{ common_stacktrace:
         netif_rx_internal
         netif_rx_ni
         main
} hitcount:          2" "$(names $file | sed -n '/^{/,/^}/p')"
done
clean $forks/trigger $rx/trigger

# --- 2.2.1 variables; what the document leaves out with dots is not needed
switch=events/sched/sched_switch waking=events/sched/sched_waking new=events/sched/sched_wakeup_new
takes_more $switch/trigger 'hist:keys=next_pid:vals=$ts0:ts0=common_timestamp'
lists $switch/trigger \
  'hist:keys=next_pid:vals=hitcount,common_timestamp:ts0=common_timestamp:'\
'sort=hitcount:size=2048:clock=global [active]'
clean $switch/trigger
# A key alone is no variable: 6.12 wants it written with a $.
check "a name without its $" \
  eval "! put $switch/trigger 'hist:timer_pid=common_pid:key=timer_pid' 2>/dev/null"
same "is no field" "hist:sched:sched_switch: error: Couldn't find field" "$(said)"
takes_more $switch/trigger 'hist:timer_pid=common_pid:key=$timer_pid'
clean $switch/trigger
takes_more $switch/trigger 'hist:keys=next_pid:ts1=common_timestamp'
clean $switch/trigger
for command in 'hist:keys=pid:vals=$ts0,$b:ts0=common_timestamp,b=prio' \
  'hist:keys=pid:ts0=common_timestamp,b=prio:vals=$ts0,$b' \
  'hist:keys=pid:ts0=common_timestamp:b=prio'; do
  takes_more $waking/trigger "$command"
  clean $waking/trigger
done
takes_more $waking/trigger 'hist:keys=pid,prio:ts0=common_timestamp'
takes_more $switch/trigger 'hist:keys=next_pid:wakeup_lat=common_timestamp-$ts0'
clean $switch/trigger
clean $waking/trigger
takes_more $waking/trigger 'hist:keys=pid:wakeup_lat=prio'
takes_more $new/trigger 'hist:keys=pid:switchtime_lat=prio'
takes_more $switch/trigger \
  'hist:key=next_pid:wakeupswitch_lat=$wakeup_lat+$switchtime_lat:'\
'onmax($wakeupswitch_lat).save(next_prio)'
hit <<'HITS'
waking|1|cyclictest|2255|100
wakeup_new|1|cyclictest|2255|11
switch|1|swapper|0|120|0|cyclictest|2255|120
HITS
has "a sum of two events' variables" "$(cat $switch/hist)" \
  $'^\tmax: +111  next_prio: +120$'
clean $switch/trigger
clean $waking/trigger $new/trigger
takes_more $switch/trigger 'hist:keys=next_pid:timestamp_secs=common_timestamp/1000000'
clean $switch/trigger
takes_more $waking/trigger 'hist:keys=pid:us_per_sec=1000000'
takes_more $switch/trigger 'hist:keys=next_pid:timestamp_secs=common_timestamp/$us_per_sec'
clean $switch/trigger $waking/trigger

# --- 2.2.2 synthetic events
takes_more synthetic_events 'wakeup_latency u64 lat; pid_t pid; int prio'
lists synthetic_events $'wakeup_latency\tu64 lat; pid_t pid; int prio'
takes_more synthetic_events '!wakeup_latency u64 lat pid_t pid int prio'
lists synthetic_events ''
takes_more synthetic_events 'wakeup_latency u64 lat; pid_t pid; int prio'
latency=events/synthetic/wakeup_latency
same "the files of the event" "enable filter format hist hist_debug id inject mirror trigger" \
  "$(cd $latency && echo *)"
# What the kernel's events make of times is made of the fields of an event here.
feed=events/sched/sched_switch
takes_more $feed/trigger \
  'hist:keys=common_pid:onmatch(sched.sched_switch).wakeup_latency(prev_state,prev_pid,prev_prio)'
takes_more $latency/trigger 'hist:keys=pid,prio,lat.log2:sort=lat'
info $latency/hist 'hist:keys=pid,prio,lat.log2:vals=hitcount:sort=lat.log2:size=2048 [active]'
replayed $latency/hist switch 'cyclictest pid prio lat swapper 1 1' 'lat: ~ 2\^[0-9]+' \
  'log2'
clean $latency/trigger
takes_more $latency/trigger 'hist:keys=pid,prio,lat.buckets=10:sort=lat'
info $latency/hist \
  'hist:keys=pid,prio,lat.buckets=10:vals=hitcount:sort=lat.buckets=10:size=2048 [active]'
replayed $latency/hist switch 'cyclictest pid prio lat swapper 1 1' 'lat: ~ [0-9]+' \
  'buckets'
clean $latency/trigger $feed/trigger
takes_more synthetic_events '!wakeup_latency'

# --- stacks in synthetic events
takes dynamic_events 's:block_lat pid_t pid; u64 delta; unsigned long[] stack;'
takes_more $switch/trigger \
  'hist:keys=next_pid:ts=common_timestamp.usecs,st=common_stacktrace  if prev_state == 2'
takes_more $switch/trigger 'hist:keys=prev_pid:delta=common_timestamp.usecs-$ts,s=$st:'\
'onmax($delta).trace(block_lat,prev_pid,$delta,$s)'
takes events/synthetic/block_lat/enable 1
: >trace
hit <<'HITS'
task|2|kthreadd
switch|1|swapper/4|0|120|2|kthreadd|2|120
switch|1|kthreadd|2|120|0|swapper/4|0|120
io_switch|1|swapper/4|0|120|2|kthreadd|9|120
switch|1|kthreadd|9|120|0|swapper/4|0|120
HITS
same "the stack of where it blocked" "kthreadd-2 block_lat: pid=2 stack=STACK:
=> __schedule
=> schedule
=> main
kthreadd-2 block_lat: pid=9 stack=STACK:
=> __schedule
=> schedule
=> io_schedule
=> main" "$(sed -nE 's/ delta=[0-9]+//; s/^ *(kthreadd-2) +\[.*: (block_lat)/\1 \2/p
  s/^(=> [a-z_]+).*/\1/p' trace | grep -v 'libc_start\|_start$')"
takes events/synthetic/block_lat/trigger \
  'hist:keys=delta.buckets=100000000,stack.stacktrace:sort=delta'
info events/synthetic/block_lat/hist 'hist:keys=delta.buckets=100000000,stack.stacktrace:'\
'vals=hitcount:sort=delta.buckets=100000000:size=2048 [active]'
hit <<'HITS'
switch|1|swapper/4|0|120|2|kthreadd|3|120
switch|1|kthreadd|3|120|0|swapper/4|0|120
HITS
same "a stack as a key" "{ delta: ~ 0-99999999, stack.stacktrace         __schedule
         schedule
         main
} hitcount:          1" "$(names events/synthetic/block_lat/hist | sed -n '/^{/,/^}/p')"
takes events/synthetic/block_lat/enable 0
clean events/synthetic/block_lat/trigger
takes_more $switch/trigger '!hist:keys=prev_pid:delta=common_timestamp.usecs-$ts,s=$st:'\
'onmax($delta).trace(block_lat,prev_pid,$delta,$s)'
clean $switch/trigger
: >dynamic_events

# --- 2.2.3 onmatch().trace(), both ways to write it
takes_more synthetic_events 'wakeup_new_test pid_t pid'
lists synthetic_events $'wakeup_new_test\tpid_t pid'
for action in 'wakeup_new_test($testpid)' 'trace(wakeup_new_test,$testpid)'; do
  takes_more $new/trigger "hist:keys=\$testpid:testpid=pid:onmatch(sched.sched_wakeup_new).$action"\
' if comm=="cyclictest"'
  takes_more events/synthetic/wakeup_new_test/trigger 'hist:keys=pid:sort=pid'
  hit <<'HITS'
wakeup_new|2|cyclictest|77|120
wakeup_new|9|bash|33|120
wakeup_new|1|cyclictest|5|120
HITS
  same "$action" "{ pid:          5 } hitcount:          1
{ pid:         77 } hitcount:          2" "$(grep '^{' events/synthetic/wakeup_new_test/hist)"
  clean events/synthetic/wakeup_new_test/trigger $new/trigger
done
takes synthetic_events 'wakeup_latency u64 lat; pid_t pid; int prio'
takes_more $waking/trigger \
  'hist:keys=$saved_pid:saved_pid=pid:ts0=common_timestamp.usecs  if comm=="cyclictest"'
takes_more $switch/trigger 'hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:'\
'onmatch(sched.sched_waking).wakeup_latency($wakeup_lat,$saved_pid,next_prio)'\
' if next_comm=="cyclictest"'
takes_more $latency/trigger 'hist:keys=pid,prio,lat:sort=pid,lat'
takes $latency/enable 1
: >trace
hit <<'HITS'
waking|1|cyclictest|2302|19
waking|1|bash|2000|120
switch|1|swapper/0|0|120|1|bash|2000|120
switch|1|bash|2000|120|0|cyclictest|2302|19
waking|1|cyclictest|2301|19
waking|1|cyclictest|2302|19
switch|1|bash|2000|120|0|cyclictest|2302|19
switch|1|bash|2000|120|0|cyclictest|2302|19
switch|1|bash|2000|120|0|cyclictest|2301|120
HITS
# The events of the trace are those of the table: time from each waking to the next switch to it.
traced=$(sed -nE 's/.* wakeup_latency: lat=([0-9]+) pid=([0-9]+) prio=([0-9]+)$/\2 \3 \1/p' trace)
same "a latency for each waking" "2302 19
2302 19
2301 120" "$(cut -d' ' -f1,2 <<<"$traced")"
same "and its table" "$(sort -k1n -k3n <<<"$traced" | uniq -c |
  awk '{ printf "{ pid: %10d, prio: %10d, lat: %10d } hitcount: %10d\n", $2, $3, $4, $1 }')" \
  "$(grep '^{' $latency/hist)"
takes $latency/enable 0
clean $latency/trigger
clean $switch/trigger $waking/trigger

# --- onmax().save() and snapshot(), onchange()
takes_more $waking/trigger 'hist:keys=pid:ts0=common_timestamp.usecs if comm=="cyclictest"'
takes_more $switch/trigger 'hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:'\
'onmax($wakeup_lat).save(next_comm,prev_pid,prev_prio,prev_comm) if next_comm=="cyclictest"'
hit <<'HITS'
waking|1|cyclictest|2255|19
switch|1|swapper/1|0|120|0|cyclictest|2255|19
HITS
has "the maximum and what was saved" "$(cat $switch/hist)" \
  $'^\tmax: +[0-9]+  next_comm: cyclictest +  prev_pid: +0  prev_prio: +120  prev_comm: '\
'swapper/1 *$'
has "by pid" "$(cat $switch/hist)" '^\{ next_pid:       2255 \} hitcount:          1$'
clean $switch/trigger
clean $waking/trigger
takes events/sched/enable 1
takes_more $waking/trigger 'hist:keys=pid:ts0=common_timestamp.usecs if comm=="cyclictest"'
takes_more $switch/trigger 'hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:'\
'onmax($wakeup_lat).save(next_prio,next_comm,prev_pid,prev_prio,prev_comm):'\
'onmax($wakeup_lat).snapshot() if next_comm=="cyclictest"'
hit <<<'waking|1|cyclictest|2103|19'
sleep 0.1
hit <<<'switch|1|swapper/1|0|120|0|cyclictest|2103|19'
taken() { grep -q '^Snapshot taken' $switch/hist; }
check "a snapshot is taken" wait_for 10 taken
has "what triggered it" "$(cat $switch/hist)" \
  $'\ttriggered by event with key: \{ next_pid:       2103 \}$'
has "with its value" "$(cat $switch/hist)" \
  $'^\ttriggering value \{ onmax\(\$wakeup_lat\) \}: +[1-9][0-9]{5}'
same "which is the maximum of that key" \
  "$(sed -nE 's/.*onmax.*\}: +([0-9]+).*/\1/p' $switch/hist)" \
  "$(sed -nE 's/^\tmax: +([0-9]+) .*/\1/p' $switch/hist)"
has "the snapshot ends with it" "$(tail -n 1 snapshot)" \
  'sched_switch: prev_comm=swapper/1 .* ==> next_comm=cyclictest next_pid=2103 next_prio=19$'
takes events/sched/enable 0
clean $switch/trigger
clean $waking/trigger
takes snapshot 0
tcp=events/tcp/tcp_probe
takes events/sched/enable 1
takes events/tcp/enable 1
takes_more $tcp/trigger 'hist:keys=dport:cwnd=snd_cwnd:onchange($cwnd).save(snd_wnd,srtt,rcv_wnd):'\
'onchange($cwnd).snapshot()'
hit <<'HITS'
tcp|7|1521|10|1|1|1
tcp|1|1521|9|35456|154262|42112
tcp|1|443|10|26960|17379|28800
tcp|22|80|11|1|1|1
tcp|1|80|10|28960|19604|29312
HITS
check "a snapshot is taken" wait_for 10 grep -q '^Snapshot taken' $tcp/hist
same "what changed" "{ dport:        443 } hitcount:          1
~changed:         10  snd_wnd:      26960  srtt:      17379  rcv_wnd:      28800
{ dport:       1521 } hitcount:          8
~changed:          9  snd_wnd:      35456  srtt:     154262  rcv_wnd:      42112
{ dport:         80 } hitcount:         23
~changed:         10  snd_wnd:      28960  srtt:      19604  rcv_wnd:      29312
Snapshot taken (see tracing/snapshot).  Details:
~triggering value { onchange(\$cwnd) }:         10
~triggered by event with key: { dport:         80 }
Totals:
    Hits: 32
    Entries: 3
    Dropped: 0" "$(grep -v '^#\|^$' $tcp/hist | sed 's/ *$//; s/\ttriggered by/\n&/' | tr '\t' '~')"
# Each change has asked for one; they are taken one after the other.
ends_with_it() { tail -n 1 snapshot | grep -q 'tcp_probe: dport=80 snd_cwnd=10 '; }
check "the snapshot has the event" wait_for 10 ends_with_it
takes events/tcp/enable 0
takes events/sched/enable 0
clean $tcp/trigger
takes snapshot 0

# --- 3. markers
takes synthetic_events 'latency u64 lat'
print=events/ftrace/print
takes $print/trigger 'hist:keys=common_pid:ts0=common_timestamp.usecs if buf == "start"'
takes_more $print/trigger 'hist:keys=common_pid:lat=common_timestamp.usecs-$ts0:'\
'onmatch(ftrace.print).latency($lat) if buf == "end"'
takes events/synthetic/latency/trigger 'hist:keys=lat,common_pid:sort=lat'
info events/synthetic/latency/hist \
  'hist:keys=lat,common_pid:vals=hitcount:sort=lat:size=2048 [active]'
mark() { printf %s "$1" >trace_marker; }
for _ in 1 2 3; do
  mark start
  sleep 0.02
  mark end
done
mark end
same "three sleeps" "Hits: 3" "$(sed -n 's/^ *\(Hits: .*\)/\1/p' events/synthetic/latency/hist)"
has "of more than 20 ms" "$(cat events/synthetic/latency/hist)" \
  "^\{ lat: +[2-9][0-9]{4,}, common_pid: +[0-9]+ \} hitcount: +[0-9]$"
clean events/synthetic/latency/trigger
# What refers to a variable goes before what sets it: ">" alone removes neither.
takes_more $print/trigger '!hist:keys=common_pid:lat=common_timestamp.usecs-$ts0:'\
'onmatch(ftrace.print).latency($lat) if buf == "end"'
clean $print/trigger
lists $print/trigger ''
takes_more $waking/trigger 'hist:keys=pid:ts0=common_timestamp.usecs'
takes $print/trigger 'hist:keys=common_pid:lat=common_timestamp.usecs-$ts0:'\
'onmatch(sched.sched_waking).latency($lat) if buf == "end"'
takes events/synthetic/latency/trigger 'hist:keys=lat,common_pid:sort=lat'
hit <<<"waking|1|bash|$BASHPID|120"
mark end
has "from an event to a marker" "$(cat events/synthetic/latency/hist)" \
  "^\{ lat: +[0-9]+, common_pid: +$BASHPID \} hitcount:          1$"
clean events/synthetic/latency/trigger
clean $print/trigger $waking/trigger
takes_more synthetic_events '!latency u64 lat'
lists synthetic_events ''
cd /
stop_standin
finish
