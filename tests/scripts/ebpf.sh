#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each command of docs/ebpf.md, as it stands there: bpftrace and a libbpf program count what the
# program itself has counted, and what Patchbay has. It runs in a mount namespace of its own, where
# the kernel's tracefs is at its usual place.
. "$(dirname "$0")/common.bash"
need bpftrace python3 unshare
[[ $(id -u) == 0 ]] || skip "BPF needs root"
[[ -x $examples/bpf/orders && -e $examples/bpf/orders.bpf.o && -x $examples/bpf/watch_orders ]] ||
  skip "examples/bpf is not built here"
cp "$examples"/bpf/{orders,orders.bpf.o,watch_orders} "$here"/../../examples/bpf/*.[ch] "$work" ||
  fail "examples/bpf cannot be copied"
cd "$work" || exit 1

# in_namespace COMMAND : by a shell, with tracefs. The mount is gone with it.
# shellcheck disable=SC2016
in_namespace() {
  timeout -k 5 120 unshare -m --propagation private bash -c '
    ulimit -l unlimited 2>/dev/null
    grep -q " /sys/kernel/tracing tracefs " /proc/mounts ||
      mount -t tracefs none /sys/kernel/tracing || exit 77
    eval "$1"' bash "$1"
}
in_namespace true 2>err || skip "tracefs cannot be mounted here: $(head -1 err)"
./orders 1000 4 >own || fail "orders does not run"
in_namespace "bpftrace -e 'BEGIN { printf(\"begun\\n\"); exit(); }'" >out 2>&1
grep -q begun out || skip "bpftrace does not run here: $(grep -v RLIMIT out | head -1)"
# A kernel without uprobes has no USDT probes. What is wrong with ours would show below.
in_namespace "test -e /sys/kernel/tracing/uprobe_events" || skip "this kernel has no uprobes"

try="bpftrace -e 'usdt:./orders:orders:sold { @ = count(); }' -c ./orders"
in_namespace "$try" >out 2>&1 ||
  ! grep -qE 'Operation not (permitted|supported)|Permission denied' out ||
  skip "probes cannot be attached here: $(grep -E 'Operation not|Permission' out | head -1)"

# The commands: what is behind the prompt in the block below each mark.
python3 - "$here/../../docs/ebpf.md" >commands <<'END'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
for name, block in re.findall(r"<!-- ebpf.sh: (\w+) -->\n\n((?:    .*\n)+)", text):
    for line in block.splitlines():
        if line[4:6] in ("# ", "$ "):
            print(name + "\t" + line[6:])
prompts = re.findall(r"^    # .*", text, re.M)
marked = [line for line in open(sys.argv[1], encoding="utf-8").read().split("<!-- ebpf.sh")[1:]
          if re.search(r"^    [#$] ", line, re.M)]
if len([p for p in prompts if "bpftrace" in p or "watch" in p]) > len(marked):
    sys.exit("a command has no mark")
END
same "each command has its mark" 0 $?
PATH=$(dirname "$patchbay"):$PATH
export PATH
names=
while IFS=$'\t' read -r name command; do
  names+=" $name"
  in_namespace "$command" >"$name.out" 2>"$name.err" </dev/null
  same "the status of: $command" 0 $?
done <commands
same "the commands" \
  " record hist list count filter text distribution stacks each libbpf compile" "$names"
# The program's own lines are in each, as it prints them.
for name in record hist count filter text distribution stacks each; do
  same "$name: the program is as ever" "$(cat own)" "$(grep -xF -f own "$name.out")"
done

# --- the figures
all=$(awk '{ sum += $2 } END { print sum }' own)
customers=$(awk '$2 { print $1, $2, $3 }' own | sort)
same "the orders that it was told" 4000 "$all"
has "list" "$(cat list.out)" '^usdt:\./orders:orders:sold$'
same "patchbay record" "$all" "$("$patchbay" report -i trace.dat | grep -c ' sold: ')"
same "patchbay hist by text" "$customers" \
  "$(sed -nE 's/^\{ customer: ([a-z]+) .*hitcount: +([0-9]+) +price: +([0-9]+)$/\1 \2 \3/p' \
    hist.out | sort)"
same "bpftrace counts" "@orders: $all" "$(grep '^@' count.out)"
dear=$("$patchbay" report -i trace.dat | sed -nE 's/.* arg2=([0-9]+) .*/\1/p' |
  awk '$1 >= 990 { n++ } END { print n }')
same "its filter" "@dear: $dear" "$(grep '^@' filter.out)"
# texts NAME : "ada 572" of lines "@NAME[ada]: 572".
texts() { sed -nE "s/^@$1\[([a-z]+)\]: ([0-9]+)$/\1 \2/p" text.out | sort; }
same "a map by text" "$customers" "$(join <(texts orders) <(texts takings))"
same "a distribution" "$all" \
  "$(sed -nE 's/^\[[0-9.]+, [0-9.]+\) +([0-9]+) .*/\1/p' distribution.out |
    awk '{ sum += $1 } END { print sum }')"
same "counts by stack" "$all" \
  "$(sed -nE 's/^\]: ([0-9]+)$/\1/p' stacks.out | awk '{ sum += $1 } END { print sum }')"
same "each event" "$dear" "$(grep -c '^dear ' each.out)"
same "libbpf: the map by text" "$customers" "$(sed -n 's/^customer //p' libbpf.out | sort)"
same "libbpf: the counts by stack" "$all" \
  "$(awk '$1 == "stack" { sum += $2 } END { print sum }' libbpf.out)"
check "libbpf: a stack of two frames at least" \
  grep -qE '^stack [0-9]+ ([2-9]|[1-9][0-9]+)$' libbpf.out
lost=$(sed -n 's/^lost //p' libbpf.out)
same "libbpf: the ring buffer" "$dear" "$(($(grep -c '^dear ' libbpf.out) + lost))"
same "bpftrace and libbpf have the same events" "$(grep '^dear ' each.out | sort)" \
  "$(grep '^dear ' libbpf.out | sort)"
check "the object that the page compiles loads" in_namespace \
  "./watch_orders own.bpf.o orders:sold ./orders 10 1 >own.out 2>&1"
finish
