#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A name is enough: -e malloc, a glob, a declaration of C. Where the arguments are known from, and
# what is said where they are not.
#   function_prototypes.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need gcc
cd "$work" || exit
export XDG_CONFIG_HOME=$work/config
cat >shop.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
struct pair { long a, b, c; };
__attribute__((noipa)) int shop_sell(const char *what, unsigned short count, double price) {
  return count + (int)price + what[0];
}
__attribute__((noipa)) int shop_buy(int n) { return n + 1; }
__attribute__((noipa)) static int shop_hidden(long n) { return (int)n + 2; }
__attribute__((noipa)) int mystery(int n, const char *text) { return n + text[0]; }
int main(void) {
  int sum = 0;
  for (int i = 0; i < 3; i++) sum += shop_sell("pear", i, 1.5) + shop_buy(i) + shop_hidden(7);
  sum += mystery(5, "secret");
  int fd = open("shop.c", O_RDONLY), none = open("/no/such/file", O_WRONLY);
  printf("%d %d\n", sum, none);
  return fd < 0;
}
C
gcc -O1 -o plain shop.c || skip "gcc cannot build the program"
gcc -O1 -g -o known shop.c
output=$(./plain)
# traced PROGRAM OPTION... : the report's lines without heads.
traced() {
  local program=$1
  shift
  same "output with $*" "$output" "$("$patchbay" record -o t.dat "$@" -- "./$program" 2>err)"
  lines=$("$patchbay" report -i t.dat 2>/dev/null | grep -v '^#')
}
number() { grep -cE -- "$1" <<<"$lines"; }

# --- known from a shipped file: libc without debug information
traced plain -e open
same "open" 1 "$(number 'main->open\(file="?shop.c"?, oflag=0\)')"
same "open that fails" 1 "$(number 'main->open\(file="?/no/such/file"?, oflag=1\)')"
shown=$("$patchbay" probe -x ./plain --prototype open)
has "where it is from" "$shown" '^# .*/prototypes/libc\.h$'
has "what stands there" "$shown" '^# int open\(const char \*file, enum open_flags oflag, \.\.\.\);$'
has "what it becomes" "$shown" '^open\(string file, int oflag\)$'

# --- known from debug information
traced known -e shop_sell -f 'count > 0'
same "a function with debug information" 2 \
  "$(number 'shop_sell\(what="?pear"?, count=[12], price=1.5')"
has "its prototype" "$("$patchbay" probe -x ./known --prototype shop_sell)" \
  '^# debug information of .*/known$'
traced known -e 'shop_*'
same "a glob: sell" 3 "$(number 'shop_sell\(what=')"
same "a glob: buy" 3 "$(number 'shop_buy\(n=[012]\)')"
same "a glob: a static function" 3 "$(number 'shop_hidden\(n=7\)')"
has "how many they are" "$(cat err)" "'shop_\*' means 3 functions"

# --- known from nobody
traced plain -e mystery
same "six words" 1 "$(number 'mystery\(arg1=5, arg2=[0-9a-f]+, arg3=.*arg6=')"
has "which is said" "$(cat err)" 'nothing says what the arguments of mystery\(\) are'

# --- known from the user's file, which may name the library
mkdir -p config/patchbay/prototypes
cat >config/patchbay/prototypes/mine.h <<'C'
// mine
typedef unsigned char tiny;
int mystery(tiny n, const char *text);
this is nothing
C
traced plain -e mystery
same "the user's own file" 1 "$(number 'mystery\(n=5, text="?secret"?\)')"
same "nothing more is said" "" "$(grep 'nothing says' err)"
echo '// library: libother.so.1' | cat - config/patchbay/prototypes/mine.h >other
mv other config/patchbay/prototypes/mine.h
traced plain -e mystery
same "a file about another library" 1 "$(number 'mystery\(arg1=')"

# --- a declaration of C
traced plain -e 'int mystery(int n, const char *text);' \
  -e 'int open(const char *path, int flags, mode_t mode)'
same "a declaration" 1 "$(number 'mystery\(n=5, text="?secret"?\)')"
same "with a typedef" 2 "$(number 'open\(path=.*, flags=[01], mode=')"
traced plain -e 'long mystery(odd n, struct pair p, int z)'
same "a type that is not known" 1 "$(number 'mystery\(n=5\)')"
has "is named" "$(cat err)" "the type 'odd' of 'n' is not known"
has "what is left out" "$(cat err)" "'p' \(struct pair\) of mystery\(\) is passed by value"

# --- names of C++ that have parentheses; without debug information
cat >unnamed.cc <<'EOC'
#define OWN __attribute__((noinline, noclone))
namespace {
OWN int hidden(int n) {
  asm volatile("");
  return n + 1;
}
}  // namespace
struct Twice {
  OWN int operator()(int n) const {
    asm volatile("");
    return 2 * n;
  }
};
OWN int operator_add(int n) {
  asm volatile("");
  return n + 3;
}
OWN int my_operator_sub(int n) {
  asm volatile("");
  return n - 3;
}
OWN int operator_news(int n) {
  asm volatile("");
  return n - 4;
}
struct Own {
  OWN static void *operator new(unsigned long n) {
    asm volatile("");
    return __builtin_malloc(n);
  }
  OWN operator int() const {
    asm volatile("");
    return 7;
  }
  long words[3];
};
int main(int argc, char **) {
  Own *own = new Own;
  const int sum = operator_add(5) + my_operator_sub(5) + operator_news(5) + *own;
  return hidden(argc) + hidden(5) + Twice()(3) + sum == 0;
}
EOC
g++ -O1 unnamed.cc -o unnamed || fail "unnamed.cc"
unnamed() {
  "$patchbay" record -q -o t.dat -e "$1" -- ./unnamed 2>err || fail "record -e $1: $(cat err)"
  lines=$("$patchbay" report -i t.dat 2>/dev/null | grep -v '^#')
}
for name in '(anonymous namespace)::hidden' '(anonymous_namespace)::hid*' '*hidden*' \
  'unnamed:*hid*' \
  '(anonymous namespace)::hidden(int n)'; do
  unnamed "$name"
  same "$name" 1 "$(number 'hidden\((n|arg1)=5[,)]')"
done
unnamed 'Twice::operator()'
same "operator()" 1 "$(number 'Twice::operator\(\)\(arg1=')"

for name in operator_add my_operator_sub operator_news '*operator_add*' 'unnamed:my_oper*' \
  'operator_add(int n)' 'Own::operator int'; do
  unnamed "$name"
  same "$name" 1 "$(number '(operator_(add|news)|my_operator_sub|Own::operator[_ ]int)\((n|arg1)=')"
done
for name in 'Own::operator new' 'Own::oper*new' 'Own::operator_new'; do
  unnamed "$name"
  same "$name" 1 "$(number 'Own::operator[_ ]new\((n|arg1)=')"
done
unnamed '*operator_[an]*'
same "a glob of names with operator_" 3 "$(number 'operator[_ ](add|news|new)\(')"

# --- mistakes
refused() {
  local text=$1
  shift
  "$patchbay" record -q -o t.dat "$@" -- ./plain >out 2>err && fail "$* is taken"
  has "why $* is refused" "$(cat err)" "$text"
}
refused "no event and no function 'mysteri'" -e mysteri
refused "means [0-9]+ functions, and at most 1000" -e '*'
refused "not loaded libnowhere, and no file of it .*: -e libnowhere:FUNC" -e 'libnowhere:sq*'
cat >copies.c <<'C'
static inline int twice(int n) { return n * 2; }
int main(int argc, char **argv) { return twice(argc + 3) - 8; }
C
gcc -g -O2 -o copies copies.c
only_copies() {
  "$patchbay" "$@" -- ./copies >out 2>err && fail "$* is taken"
  has "$*: only copies are left" "$(cat err)" \
    "Only copies of twice\(\) are left, inlined into main\(\) \(copies.c:2\): .*'twice \\\$params'"
}
for name in twice 'twice(int n)'; do
  only_copies record -q -o t.dat -e "$name"
  only_copies calls -e "$name"
done
only_copies latency twice
only_copies record -q -o t.dat -t function -l twice
# Namesakes that nothing but the symbols tells apart have an event each, with and without -g.
cat >one.c <<'C'
__attribute__((noipa)) static int helper(int n) { return n + 1; }
int one(void) { return helper(1) + helper(2); }
C
cat >two.c <<'C'
int one(void);
__attribute__((noipa)) static int helper(int n) { return n + 2; }
int main(void) { return one() + helper(3) - 10; }
C
for how in -g0 -g; do
  gcc "$how" -O1 -o namesakes one.c two.c
  "$patchbay" calls -c -o lines -e helper -- ./namesakes 2>err || fail "calls -c: $(cat err)"
  same "each namesake is counted by itself ($how)" "2 helper@one.c 1 helper@two.c" \
    "$(awk '/helper/ { print $1, $NF }' lines | sort -k2 | paste -sd' ')"
  "$patchbay" hist helper keys=common_pid -- ./namesakes >out 2>err && fail "hist of both ($how)"
  has "one of them has to be chosen ($how)" "$(cat err)" \
    'helper@one\.c and helper@two\.c: choose one'
done
# What is in .dwo files is read, and else that is the reason.
gcc -g -O1 -gsplit-dwarf -o split -x c - <<'C'
static __attribute__((noipa)) int helper(const char *name, int n) { return n + name[0]; }
int main(void) { return helper("a", 3) - 100; }
C
"$patchbay" calls -o lines -e helper -- ./split 2>err
has "of a .dwo file" "$(cat lines)" '^helper\("a", 3\) = 100 '
rm -f ./*.dwo
"$patchbay" calls -o lines -e helper -- ./split 2>err
has "why the arguments are unknown" "$(cat err)" '\.dwo files .*\.dwo is not there'
cat >late.c <<'C'
#include <dlfcn.h>
int main(void) {
  void *library = dlopen("libsqlite3.so.0", RTLD_NOW);
  return library ? ((int (*)(void))dlsym(library, "sqlite3_libversion_number"))() < 3 : 1;
}
C
gcc -o late late.c
"$patchbay" calls -o lines -e 'libsqlite3:sqlite3_libversion*' -- ./late 2>err
check "a library that comes late" test $? = 0
has "a glob waits for it" "$(cat lines)" '^sqlite3_libversion_number\('
has "and says so" "$(cat err)" 'does not have /.*/libsqlite3.so.* yet: what .* means there waits'
refused "no event and no function 'libc:nothing_\*'" -e 'libc:nothing_*'
refused "Invalid type 'strng'|Unknown type|strng" -e 'open(strng path)'
traced plain -e 'libc:mkfif*'
same "no event of a function that nothing calls" "" "$lines"
has "a library's glob" "$(cat err)" "'libc:mkfif\*' means [0-9]+ functions"
finish
