#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real programs with probes on thousands of instructions of the libraries that they spend their time
# in: output and exit status are those of the run without. The places are a seeded sample of all
# instructions that objdump sees; each is placed, or refused with a reason.
#   probe_differential.sh BUILD_DIR [PLACES [SEED]]
. "$(dirname "$0")/common.bash"
need objdump fusermount3
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"
places=${1:-1500}
seed=${2:-$((RANDOM * 32768 + RANDOM))}
echo "seed $seed"
mnt=$work/mnt
mkdir "$mnt"
unmount() { fusermount3 -u "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" 2>/dev/null; }
trap 'unmount; cleanup' EXIT

# sample LIBRARY FUNCTIONS : file offsets of instructions in .text behind symbols that match.
sample() {
  local library=$1 distance
  distance=$(objdump -h -j .text "$library" |
    awk '$2 == ".text" {print strtonum("0x" $4) - strtonum("0x" $6)}')
  objdump -d --no-show-raw-insn -j .text "$library" |
    awk -v d="$distance" -v f="$2" '/^[0-9a-f]+ </ {wanted = $2 ~ "<(" f ")"}
      wanted && /^ +[0-9a-f]+:/ {sub(":", "", $1); printf "0x%x\n", strtonum("0x" $1) - d}' |
    shuf -n "$places" --random-source=<(while :; do echo "$seed"; done)
}
# library_of PROGRAM NAME : the path of a library as its linker finds it, else the program.
library_of() {
  local found
  found=$(ldd "$(command -v "$1")" | awk -v n="$2" 'index($1, n) == 1 {print $3; exit}')
  readlink -f "${found:-$(command -v "$1")}"
}
# set_places LIBRARY FUNCTIONS : writes and enables; counts placed and refused.
set_places() {
  local offset line=0
  placed=0 refused=0
  for offset in $(sample "$1" "$2"); do
    line=$((line + 1))
    if echo "p:d/e$line $1:$offset %ax %sp" 2>/dev/null >>"$mnt/uprobe_events"; then
      placed=$((placed + 1))
    else
      refused=$((refused + 1))
    fi
  done
  # Some places are refused only now: a nop that nothing reaches, in which a jump beside it stands.
  echo 1 2>/dev/null >"$mnt/events/d/enable"
}
# differ NAME LIBRARY FUNCTIONS INPUT COMMAND… : INPUT is a file that the command reads from its
# standard input.
differ() {
  local name=$1 library=$2 functions=$3 input=$4 expected status pid hits mode jumps
  shift 4
  expected=$("$@" <"$input" 2>&1)
  status=$?
  for mode in 1 0; do
    mkfifo "$work/in"
    LD_PRELOAD=$agent "$@" <"$work/in" >"$work/out" 2>&1 &
    pid=$!
    started $pid
    exec 3>"$work/in"
    check "$name has an agent" wait_for 20 "$patchbay" ls $pid
    check "$name is mounted" bash -c "exec \"$patchbay\" mount -p $pid $mnt 3>&-"
    echo $mode >"$mnt/kprobes/optimization"
    set_places "$library" "$functions"
    check "$name: $placed probes were placed" test $placed -gt $((places / 2))
    jumps=$(grep -c OPTIMIZED "$mnt/kprobes/list")
    echo "$name, optimization $mode: $placed placed, $refused refused; as jumps: $jumps"
    cat "$input" >&3
    sleep 0.5  # what it does before the end of its input
    hits=$(awk '{n += $NF} END {print n + 0}' "$mnt/uprobe_profile" 2>/dev/null)
    check "$name: probes were hit" test "${hits:-0}" -gt 0
    exec 3>&-
    wait $pid
    same "$name, optimization $mode: exit status" $status $?
    same "$name, optimization $mode: output" "$expected" "$(cat "$work/out")"
    echo "$name, optimization $mode: at least ${hits:-0} hits"
    unmount
    rm "$work/in"
  done
}

cat >"$work/sql" <<'SQL'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
  insert into t select i, hex(i * 7919), i / 3.0 from n;
create index t_b on t(b);
select count(*), sum(a), max(b), round(avg(c), 6) from t;
select b, c from t where b like '3%7' order by c desc limit 20;
update t set b = b || 'x' where a % 17 = 0; delete from t where a % 5 = 0;
select count(*), group_concat(substr(b, 1, 2), '') from (select b from t order by b limit 100);
select json_extract('{"a":[1,2,{"b":3}]}', '$.a[2].b'), printf('%08.3f|%-6s|', 3.14159, 'ab');
select nosuch from t;
pragma integrity_check;
SQL
cat >"$work/py" <<'PY'
import json, re, struct, zlib, random, decimal, functools
random.seed(7)
data = {str(i): [random.random(), random.getrandbits(64), '\u00e9' * (i % 5)] for i in range(300)}
text = json.dumps(data, sort_keys=True)
assert json.loads(text) == data
print(zlib.crc32(text.encode()), len(zlib.compress(text.encode())), hash(1.5))
print(sum(map(len, re.findall(r'[a-f]+\d', text))), struct.pack('<dQ', 1.25, 77).hex())
@functools.lru_cache(None)
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
print(f(300), decimal.Decimal(2).sqrt(), 3 ** 200 % 10 ** 9 + 7)
class E(Exception): pass
def g(n):
    if n == 0: raise E('deep')
    return g(n - 1)
try: g(200)
except E as e: print('caught', e)
print(sorted(str(x) for x in {frozenset([1, 2]), (3, 4), 'z'}), '%.17g' % 0.1)
PY
head -c 300000 "$agent" >"$work/bytes"

if command -v sqlite3 >/dev/null; then
  differ sqlite3 "$(library_of sqlite3 libsqlite3)" . "$work/sql" sqlite3 :memory:
  differ sqlite3-libc "$(library_of sqlite3 libc.so)" . "$work/sql" sqlite3 :memory:
fi
if command -v openssl >/dev/null; then
  for digest in sha256 sha3-512 md5; do
    differ "openssl-$digest" "$(library_of openssl libcrypto)" '(EVP_|BIO_|SHA|MD5|CRYPTO_)' \
      "$work/bytes" openssl dgst -$digest
  done
fi
if command -v python3 >/dev/null; then
  python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
  # It runs its script before the end of its input.
  { wc -c <"$work/py" && cat "$work/py"; } >"$work/python"
  differ python3 "$(library_of "$python" libpython)" \
    '_?Py(Eval|Object|Dict|Long|Unicode|Mem|Frame)' "$work/python" "$python" -c \
    'import sys; exec(sys.stdin.read(int(sys.stdin.readline()))); sys.stdin.read()'
fi
finish
