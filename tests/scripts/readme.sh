#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README.md, the manual and docs/api.md as a reader works through them: each block is run, or says
# in a comment why it is not (readme_blocks.py). This script makes what the pages take for granted:
# the database of tools/demo with fewer rows, and a python3 that works with sqlite3.
#   readme.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
# shellcheck source=orders.bash
. "$here/orders.bash"
need python3 sqlite3 trace-cmd fusermount3 g++
((EUID == 0)) || skip "mounting and trace-cmd need root"
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"
source=$(cd "$here/../.." && pwd)
mkdir -p "$work/bin" "$work/source/build" "$work/mount"
ln -s "$patchbay" "$work/bin/patchbay"
ln -s "$build" "$work/source/build/release"
ln -s "$source/examples" "$source/include" "$work/source/"
export PATH=$work/bin:$PATH
shop=
unmount_and_clean() {
  cd /
  fusermount3 -qu "$work/mount" 2>/dev/null
  kill -9 "$shop" 2>/dev/null
  wait "$shop" 2>/dev/null
  cleanup
}
trap unmount_and_clean EXIT
cd "$work/source" || exit

make_orders 3000 50
short_queries >queries.sql
cp queries.sql orders.sql

# Its line 8 is the one that running.md asks for; statements are prepared anew each time.
cat >shop.py <<'PY'
import sqlite3
import time
db = sqlite3.connect(":memory:", cached_statements=0)
db.execute("create table sold(item, price)")


def sell(item):
    db.execute("insert into sold values (?, ?)", (item, 3))
    db.execute("select count(*), sum(price) from sold").fetchall()


for item in range(100000):
    sell(item)
    time.sleep(0.02)
PY
LD_PRELOAD=$agent /usr/bin/python3 shop.py &
shop=$!
started $shop
wait_for 20 "$patchbay" ls $shop || fail "the shop does not answer"
export README_CXX="g++ -std=c++20 -I$source/include -L$build/lib -Wl,-rpath,$build/lib \
  -Wl,--no-as-needed -lpatchbay"
checks=$((checks + 1))
python3 "$here/readme_blocks.py" "$source/README.md" "$source"/docs/manual/*.md \
  "$source/docs/api.md" 30637=$shop /mnt/t="$work/mount" /run/patchbay="$PATCHBAY_DIR" \
  /usr/lib/…/libpatchbay.so="$agent" || fail "a block of README.md or of docs/"
finish
