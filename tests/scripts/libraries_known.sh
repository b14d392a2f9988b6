#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's libc, sqlite3, openssl and zlib without debug packages: functions by name have their
# arguments, their errors and the words of their flags. A program says each call itself; openssl
# and a python3 are taken as they are.
#   libraries_known.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc python3 openssl sqlite3
# A system without debug packages: where this one has them there is nothing.
if [[ -z ${KNOWN_WITHOUT_DEBUG:-} && -d /usr/lib/debug ]] && unshare -m true 2>/dev/null; then
  # shellcheck disable=SC2016  # expanded by the other shell
  KNOWN_WITHOUT_DEBUG=1 unshare -m bash -c \
    'mount -t tmpfs none /usr/lib/debug || exit 77; exec "$0" "$@"' "$0" "$build"
  status=$?
  ((status == 77)) || exit $status
  echo "debug packages cannot be hidden here"
fi
cd "$work" || exit
stripped() { sed -E 's/ <[0-9.]+ ms>$//' "$1"; }

cat >known.c <<'EOC'
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  // --- libc
  open("/no/such/file", O_RDWR | O_CLOEXEC);
  puts("open(\"/no/such/file\", O_RDWR|O_CLOEXEC) = -1 ENOENT");
  lseek(-1, 5, SEEK_END); puts("lseek(-1, 5, SEEK_END) = -1 EBADF");
  mprotect((void*)4096, 4096, PROT_READ | PROT_WRITE);
  puts("mprotect(0x1000, 4096, PROT_READ|PROT_WRITE) = -1 ENOMEM");
  setenv("KNOWN", "of libc", 1); puts("setenv(\"KNOWN\", \"of libc\", 1) = 0");
  getenv("KNOWN"); puts("getenv(\"KNOWN\") = \"of libc\"");
  // --- sqlite3
  sqlite3* db = NULL;
  sqlite3_stmt* s = NULL;
  sqlite3_open_v2("/no/such/folder/db", &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
  printf("sqlite3_open_v2(\"/no/such/folder/db\", %p, SQLITE_OPEN_READONLY|SQLITE_OPEN_URI, NULL)"
         " = SQLITE_CANTOPEN\n", (void*)&db);
  sqlite3_close(db); printf("sqlite3_close(%p) = SQLITE_OK\n", (void*)db);
  sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  printf("sqlite3_open_v2(\":memory:\", %p, SQLITE_OPEN_READWRITE|SQLITE_OPEN_CREATE, NULL)"
         " = SQLITE_OK\n", (void*)&db);
  sqlite3_prepare_v2(db, "select nothing", -1, &s, NULL);
  printf("sqlite3_prepare_v2(%p, \"select nothing\", -1, %p, NULL) = SQLITE_ERROR\n", (void*)db,
         (void*)&s);
  sqlite3_prepare_v2(db, "select 'x', 2.5", -1, &s, NULL);
  printf("sqlite3_prepare_v2(%p, \"select 'x', 2.5\", -1, %p, NULL) = SQLITE_OK\n", (void*)db,
         (void*)&s);
  sqlite3_step(s); printf("sqlite3_step(%p) = SQLITE_ROW\n", (void*)s);
  sqlite3_column_type(s, 0); printf("sqlite3_column_type(%p, 0) = SQLITE_TEXT\n", (void*)s);
  sqlite3_column_text(s, 0);
  sqlite3_column_double(s, 1); printf("sqlite3_column_double(%p, 1) = 2.5\n", (void*)s);
  sqlite3_step(s); printf("sqlite3_step(%p) = SQLITE_DONE\n", (void*)s);
  sqlite3_finalize(s); printf("sqlite3_finalize(%p) = SQLITE_OK\n", (void*)s);
  sqlite3_errstr(5); puts("sqlite3_errstr(SQLITE_BUSY) = \"database is locked\"");
  // --- zlib
  unsigned char in[100] = "abc", out[200];
  uLongf size = sizeof out;
  compress2(out, &size, in, 100, Z_BEST_SPEED);
  printf("compress2(%p, %p, %p, 100, Z_BEST_SPEED) = Z_OK\n", (void*)out, (void*)&size, (void*)in);
  size = 3;
  compress2(out, &size, in, 100, 6);
  printf("compress2(%p, %p, %p, 100, 6) = Z_BUF_ERROR\n", (void*)out, (void*)&size, (void*)in);
  z_stream z = {0};
  deflateInit(&z, Z_DEFAULT_COMPRESSION);
  printf("deflateInit_(%p, Z_DEFAULT_COMPRESSION, \"%s\", %d) = Z_OK\n", (void*)&z, ZLIB_VERSION,
         (int)sizeof z);
  z.next_in = in, z.avail_in = 100, z.next_out = out, z.avail_out = 200;
  deflate(&z, Z_FINISH); printf("deflate(%p, Z_FINISH) = Z_STREAM_END\n", (void*)&z);
  deflateEnd(&z); printf("deflateEnd(%p) = Z_OK\n", (void*)&z);
  zError(Z_DATA_ERROR); puts("zError(Z_DATA_ERROR) = \"data error\"");
  // --- openssl
  SSL_CTX* c = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, NULL);
  printf("SSL_CTX_set_verify(%p, SSL_VERIFY_PEER|SSL_VERIFY_CLIENT_ONCE, NULL)\n", (void*)c);
  SSL_CTX_use_certificate_file(c, "/no/such/file", SSL_FILETYPE_PEM);
  printf("SSL_CTX_use_certificate_file(%p, \"/no/such/file\", SSL_FILETYPE_PEM) = 0\n", (void*)c);
  EVP_get_digestbyname("no-such-digest"); puts("EVP_get_digestbyname(\"no-such-digest\") = NULL");
  SSL_CTX_free(c); printf("SSL_CTX_free(%p)\n", (void*)c);
  _exit(0);
}
EOC
if echo '#include <sqlite3.h>
#include <openssl/ssl.h>
#include <zlib.h>' | gcc -E -x c - >/dev/null 2>&1; then
  gcc -O1 -w -fno-builtin -o known known.c -lsqlite3 -lz -lssl -lcrypto || fail "known.c"
  functions=()
  for name in open lseek mprotect setenv getenv sqlite3_open_v2 sqlite3_close \
    sqlite3_prepare_v2 sqlite3_step sqlite3_column_type sqlite3_column_double sqlite3_finalize \
    sqlite3_errstr compress2 deflateInit_ deflate deflateEnd zError SSL_CTX_set_verify \
    SSL_CTX_use_certificate_file EVP_get_digestbyname SSL_CTX_free; do
    # What the libraries call of each other is not the program's.
    functions+=(-e "$name@plt")
  done
  "$patchbay" calls -o raw "${functions[@]}" -- ./known >printed 2>err
  same "its status" 0 $?
  stripped raw | sed 's/^\([A-Za-z_0-9]*\)@plt(/\1(/' >lines
  same "each call as the program says it" "$(cat printed)" "$(cat lines)"
else
  echo "SKIPPED: there are no headers to build the program with"
fi

# --- where it is from; what does not return
for function in open:libc sqlite3_step:sqlite3 SSL_connect:openssl deflate:zlib; do
  loads=/bin/ls
  [[ $function == open:* ]] || loads=./known
  [[ -x $loads ]] || continue
  has "where ${function%:*} is from" \
    "$("$patchbay" probe -x $loads --prototype "${function%:*}")" \
    "^# .*/prototypes/${function#*:}\.h$"
done
"$patchbay" calls -o lines -e _exit -- sh -c 'exit 3' 2>err
same "a function that does not return" "3 _exit(3)" "$? $(cat lines)"

# --- openssl as it is: what a file is made of goes through EVP_DigestUpdate
head -c 100000 /dev/zero >zeros
"$patchbay" calls -o lines -e EVP_DigestUpdate@plt -e EVP_DigestInit_ex@plt -e BIO_read@plt \
  -e EVP_DigestSignUpdate -e BIO_new_file -- openssl dgst -sha256 zeros >out 2>err
same "openssl dgst prints what it prints" "$(openssl dgst -sha256 zeros)" "$(cat out)"
same "all bytes of the file" 100000 "$(stripped lines |
  sed -n 's/^BIO_read@plt(.*) = \(.*\)/\1/p;s/^BIO_read(.*) = \(.*\)/\1/p' |
  awk '{ sum += $1 } END { print sum }')"
has "a file by its name" "$(cat lines)" '^BIO_new_file\(".*openssl\.cnf", "rb?"\) = '

# --- a python3 that has zlib
cat >zip.py <<'PY'
import zlib
packer = zlib.compressobj(9, zlib.DEFLATED, 15, 8, zlib.Z_FILTERED)
packed = packer.compress(b"a" * 1000) + packer.flush()
assert zlib.decompress(packed) == b"a" * 1000
try:
    zlib.decompress(b"junk")
except zlib.error:
    pass
PY
"$patchbay" calls -o lines -e 'deflate' -e 'deflateInit2_' -e inflate -e deflateEnd -- \
  /usr/bin/python3 zip.py 2>err
same "each call of zlib" 'deflateInit2_(P, Z_BEST_COMPRESSION, Z_DEFLATED, 15, 8, Z_FILTERED) = Z_OK
deflate(P, Z_NO_FLUSH) = Z_OK
deflate(P, Z_FINISH) = Z_STREAM_END
inflate(P, Z_FINISH) = Z_STREAM_END
inflate(P, Z_FINISH) = Z_DATA_ERROR
deflateEnd(P) = Z_OK' "$(stripped lines | sed -E 's/0x[0-9a-f]+/P/; s/, "[0-9.]+", 112//' |
  awk '/deflateEnd/ { end = $0; next } { print } END { print end }')"
finish
