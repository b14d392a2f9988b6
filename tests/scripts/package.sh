#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tools/package: what it makes has no complaint of lintian, is installed, works and is purged in a
# root directory of its own, which is as before then. The tarball runs from any folder, with an old
# libc and no other library. (tests/platforms/packages installs into a system that has nothing.)
. "$(dirname "$0")/common.bash"
need dpkg-deb lintian cmake dh unshare
top=$(cd "$here/../.." && pwd)
export XZ_OPT=-0 DPKG_DEB_COMPRESSOR_LEVEL=0  # half the time of this test was xz's

check "packages are made" "$top/tools/package" "$build" "$work/out" >"$work/log" 2>&1 ||
  { cat "$work/log"; finish; }
names=$(cd "$work/out" && printf '%s\n' *.deb | sed 's/_.*//' | LC_ALL=C sort)
same "the packages" \
  "libpatchbay-dev libpatchbay0 libpatchbay0-dbgsym patchbay patchbay-dbgsym" "$(xargs <<<"$names")"
same "lintian" "" "$(lintian --allow-root --fail-on none "$work"/out/*.deb 2>&1)"
same "the agent needs libc alone" "libc6" \
  "$(dpkg-deb -f "$work"/out/libpatchbay0_*.deb Depends | sed 's/ .*//')"
check "none has a path of this machine in its texts" eval "! for one in $work/out/*.deb; do
  dpkg-deb --fsys-tarfile \$one | tar -xO --wildcards './usr/share/*' './usr/lib/*/pkgconfig/*' \
    './usr/lib/cmake/*' 2>/dev/null; done | grep -F '$build'"

# --- the tarball

mkdir "$work/anywhere"
tar -C "$work/anywhere" -xf "$work"/out/*.tar.xz
mv "$work"/anywhere/* "$work/moved"
"$work/moved/bin/patchbay" record -e 'getenv(string name)' -o "$work/a.dat" -- env true \
  >"$work/record.log" 2>&1
has "the tarball's tool records" "$(cat "$work/record.log")" 'record: [1-9][0-9]* events'
same "the tarball's tool needs libc alone" "" "$(readelf -d "$work/moved/bin/patchbay" |
  sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(lib(c|m|dl)\.so|libpthread\.so|ld-linux)')"
for file in bin/patchbay lib/libpatchbay.so.0; do
  same "$file needs no libc newer than 2.28" "GLIBC_2.28" "$(nm -D "$work/moved/$file" |
    grep -o 'GLIBC_2[.0-9]*' | LC_ALL=C sort -uV | tail -n 1)"
done
check "the licences of what is in it are there" test -s \
  "$work/moved/share/doc/patchbay/libraries/libdw-dev.txt"
for folder in lib64 lib/x86_64-linux-gnu; do
  mkdir -p "$work/other/$folder" "$work/other/bin"
  cp "$work/moved/bin/patchbay" "$work/other/bin/"
  cp "$work"/moved/lib/libpatchbay.so.0 "$work/other/$folder/"
  "$work/other/bin/patchbay" record -e 'getenv(string name)' -o "$work/a.dat" -- env true \
    >"$work/record.log" 2>&1
  has "it finds its agent in $folder" "$(cat "$work/record.log")" 'record: [1-9][0-9]* events'
  rm -rf "$work/other"
done

# --- a root directory of its own: this one, with what is written elsewhere

cat >"$work/inside" <<'INSIDE'
set -u
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /
# Where packages put their files: others may be building elsewhere, which is seen here.
ours() { find /etc /opt /usr /var -xdev -name '*patchbay*' 2>/dev/null | sort; }
ours >/tmp/before
# A user of the tool has no headers, and the tool does not need them.
dpkg -i /tmp/out/patchbay_*.deb /tmp/out/libpatchbay0_*.deb || exit 1
echo "version: $(/usr/bin/patchbay --version)"
mkdir -m 700 /tmp/run
export PATCHBAY_DIR=/tmp/run
/usr/bin/patchbay record -e 'getenv(string name)' -o /tmp/b.dat -- env true 2>&1 |
  sed 's/^/recorded: /'
/usr/bin/patchbay report -i /tmp/b.dat 2>/dev/null | grep 'getenv(' | head -n 1
sleep 100 &
/usr/bin/patchbay attach $! && echo "attached: yes"
kill %1
test -s /usr/share/man/man1/patchbay-record.1.gz && echo "page: yes"
dpkg -i /tmp/out/*.deb || exit 1
printf '#include <patchbay/patchbay.h>\nint main(void) { return 0; }\n' >/tmp/plain.c
# shellcheck disable=SC2046  # words
cc /tmp/plain.c -o /tmp/plain $(pkg-config --cflags --libs patchbay) && /tmp/plain &&
  echo "compiled: yes"
dpkg --verify patchbay libpatchbay0 libpatchbay-dev && echo "verified: yes"
dpkg --purge patchbay-dbgsym libpatchbay0-dbgsym patchbay libpatchbay-dev libpatchbay0 || exit 1
ours >/tmp/after
diff /tmp/before /tmp/after && echo "left: nothing"
INSIDE
cat >"$work/around" <<'AROUND'
set -eu
mkdir "$1/layer"
mount -t tmpfs -o size=1g none "$1/layer"
mkdir "$1/layer/upper" "$1/layer/work" "$1/layer/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/layer/upper,workdir=$1/layer/work" none "$1/layer/root"
for place in proc dev sys; do mount --rbind "/$place" "$1/layer/root/$place"; done
mount -t tmpfs none "$1/layer/root/tmp"
mkdir "$1/layer/root/tmp/out"
cp "$1"/out/*.deb "$1/layer/root/tmp/out/"
cp "$1/inside" "$1/layer/root/tmp/inside"
echo "root: made"
exec chroot "$1/layer/root" bash /tmp/inside
AROUND
said=$(unshare -m --propagation private bash "$work/around" "$work" 2>&1)
if ! grep -q '^root: made' <<<"$said"; then
  echo "SKIPPED in part: no root directory of its own can be made, which takes root and" \
    "overlayfs: what is in the packages was NOT installed: $(tail -n 1 <<<"$said")"
  finish
fi
has "the version" "$said" '^version: patchbay [0-9]'
has "it records" "$said" '^recorded: .*record: [1-9][0-9]* events'
has "it reports" "$said" 'getenv\(name='
for what in attached page compiled verified; do has "$what" "$said" "^$what: yes"; done
has "nothing is left" "$said" '^left: nothing'
finish
