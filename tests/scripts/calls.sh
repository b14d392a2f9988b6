#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay calls: lines of programs that print their own calls, of cat beside strace, of a library
# that comes by dlopen(), of a running process; and that nothing is left behind.
#   calls.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
cd "$work" || exit

# --- a program that prints what its calls are
cat >own.cc <<'EOC'
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#define CALL extern "C" __attribute__((noinline, used))
#define KEEP __asm__ volatile("" ::: "memory")
static jmp_buf place;
CALL int own_int(int a, const char* s) { KEEP; return a - int(strlen(s)); }
CALL double own_double(double a, float b) { KEEP; return a * b; }
CALL const char* own_text(const char* s) { KEEP; return s; }
CALL void own_void(void* p, unsigned char c) { __asm__ volatile("" ::"r"(p), "r"(c) : "memory"); }
CALL unsigned long own_word(unsigned long n) { KEEP; return ~n; }
CALL long own_fail(long n) { KEEP; return n ? -1 : 0; }
CALL int own_depth(int n) {
  int below = n ? own_depth(n - 1) : 0;
  __asm__ volatile("" : "+r"(below));
  return below + 1;
}
CALL void own_throw(int n) { KEEP; if (n) throw std::runtime_error("own"); }
CALL int own_catch(int n) { try { own_throw(n); } catch (std::exception&) { return 1; } return 0; }
CALL void own_jump(int n) { longjmp(place, n); }
CALL int own_set(int n) { if (setjmp(place)) return n; own_jump(1); return 0; }
namespace ns {
struct Box {
  int v;
  __attribute__((noinline)) int get(int x, unsigned y) { KEEP; return v + x + int(y); }
  __attribute__((noinline)) int get(const char* s) { KEEP; return v + int(strlen(s)); }
};
}  // namespace ns
int main() {
  own_int(5, "he\"llo\n\x01\xff");
  puts(R"(own_int(5, "he\"llo\n\x01\xff") = -4)");
  own_double(1.5, 2); puts("own_double(1.5, 2) = 3");
  own_text("abc"); puts(R"(own_text("abc") = "abc")");
  own_text(""); puts(R"(own_text("") = "")");
  own_text(nullptr); puts("own_text(NULL) = NULL");
  own_text((const char*)8); puts("own_text(0x8) = 0x8");
  std::string long_text(600, 'x'), cut(511, 'x');
  own_text(long_text.c_str());
  printf("own_text(\"%s\"...) = \"%s\"...\n", cut.c_str(), cut.c_str());
  own_void(nullptr, 7); puts("own_void(NULL, 7)");
  own_void((void*)0x1234, 255); puts("own_void(0x1234, 255)");
  own_word(0); puts("own_word(0) = 18446744073709551615");
  own_fail(1); puts("own_fail(1) = -1");
  own_fail(0); puts("own_fail(0) = 0");
  own_depth(2); puts("own_depth(0) = 1\nown_depth(1) = 2\nown_depth(2) = 3");
  own_catch(1);
  puts("own_throw(1) = ? <left by exception std::runtime_error: own>\nown_catch(1) = 1");
  own_catch(0); puts("own_throw(0)\nown_catch(0) = 0");
  own_set(4); puts("own_jump(1) = ? <no return seen>\nown_set(4) = 4");
  ns::Box box{4};
  box.get(1, 2); printf("ns::Box::get(%p, 1, 2) = 7\n", (void*)&box);
  box.get("xy"); printf("ns::Box::get(%p, \"xy\") = 6\n", (void*)&box);
}
EOC
if "${CXX:-c++}" -g -O1 -w -o own own.cc; then
  "$patchbay" calls -o lines -e 'own_*' -e ns::Box::get -- ./own >printed 2>err
  same "its status" 0 $?
  # The last part of a line is the time.
  same "each call as the program says it" "$(cat printed)" \
    "$(sed -E 's/ <[0-9]+\.[0-9]+ ms>$//' lines)"
  same "all that returned have a time" "" \
    "$(grep -vE ' <[0-9]+\.[0-9]{3,6} ms>$| <(no return seen|left by exception .*)>$' lines)"
  "$patchbay" calls -t -o lines -e 'own_depth' -- ./own >/dev/null 2>err
  same "indented" "own_depth(2) {
  own_depth(1) {
    own_depth(0) = 1
  } = 2
} = 3" "$(sed -E 's/ <[0-9.]+ ms>//; s:  /\* own_depth \*/$::' lines)"
  "$patchbay" calls --errors-only -o lines -e 'own_*' -- ./own >/dev/null 2>err
  same "failed calls" "own_text(NULL) = NULL
own_fail(1) = -1
own_throw(1) = ? <left by exception std::runtime_error: own>" "$(sed -E 's/ <[0-9.]+ ms>$//' lines)"
  "$patchbay" calls -c -e own_throw -- ./own >/dev/null 2>err
  has "an exception is an error" "$(cat err)" '^ +2 +1 .* own_throw$'
  "$patchbay" calls --errors-only --longer 100s -o lines -e 'own_*' -- ./own >/dev/null 2>err
  same "failed calls that took as long" "" "$(cat lines)"
  has "that there was none is said" "$(cat err)" \
    'none of [0-9]+ calls is one that --errors-only or --longer shows'
  "$patchbay" calls --errors-only -t -o lines -e 'own_*' -- ./own >/dev/null 2>err
  same "failed calls, indented by what has called them" 3 "$(grep -c ' = ' lines)"
  "$patchbay" calls -o lines -e 'long r = own_fail(long n)' -e 'double d = own_double(double a)' \
    -e 'void = own_void(x64 p)' -e 'int r = own_int(int a, string s)' -- ./own >/dev/null 2>err
  same "whole calls" 'own_int(5, "he\"llo\n\x01\xff") = -4
own_double(1.5) = 3
own_void(0x0)
own_void(0x1234)
own_fail(1) = -1
own_fail(0) = 0' "$(sed -E 's/ <[0-9.]+ ms>$//' lines)"
  "$patchbay" calls --longer 100s -o lines -e 'own_*' -- ./own >/dev/null 2>err
  same "calls that took as long" "" "$(cat lines)"
  "$patchbay" calls -k -o lines -e own_throw -- ./own >/dev/null 2>err
  has "who has called" "$(cat lines)" '^    own_catch\+0x'
  has "and who has called that" "$(cat lines)" '^    main\+0x'
  # What a declaration says needs no debug information.
  strip -g own -o bare
  "$patchbay" calls -o lines -e 'int own_int(int a, const char *s)' -e 'ns::Box::*' -- \
    ./bare >/dev/null 2>err
  has "a declaration" "$(cat lines)" '^own_int\(5, "he\\"llo\\n\\x01\\xff"\) = -4 <'
  same "overloads without prototypes" 2 "$(grep -cE '^ns::Box::get\(0x.*\) = 0x[67] <' lines)"
  has "it is said that nothing is known of them" "$(cat err)" 'nothing says what the arguments'
else
  fail "the program does not compile"
fi

# --- functions that return structures and objects: as others, whether they return or not
cat >returns.cc <<'EOC'
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef __clang__
#define CALL __attribute__((noinline, used))
#else
#define CALL __attribute__((noipa, used))
#endif
#define KEEP __asm__ volatile("" ::: "memory")
static jmp_buf place;
struct Two { long a, b; };
struct Three { long a, b, c; };
CALL int o_leaf(int n) { KEEP; return n; }
CALL std::string o_text(int n) { return std::string(size_t(o_leaf(n)), 'x'); }
CALL Three o_three(int n) { o_leaf(n); return {n, 2, 3}; }
CALL Two o_rec(int n) { Two t = n ? o_rec(n - 1) : Two{}; KEEP; return {t.a + 1, t.b}; }
CALL std::string o_parse(const char* s) {
  if (*s == '{') throw std::runtime_error("no brace");
  return s;
}
CALL std::vector<int> o_jump(int n) { longjmp(place, n); }
CALL std::unique_ptr<int> o_end(int n) { exit(n); }
CALL int o_top(int n) { o_text(n); o_three(n); KEEP; return n; }
CALL int o_fails(int n) { if (n) o_fails(n - 1); KEEP; return -1; }
int main(int words, char**) {
  o_top(1);
  o_rec(words > 1 ? 100 : 2);
  o_fails(words > 1 ? 100 : 2);
  try { o_parse("{"); } catch (std::exception&) {}
  o_parse("ok");
  if (!setjmp(place)) o_jump(1);
  o_leaf(0);
  o_end(3);
}
EOC
if "${CXX:-c++}" -std=c++20 -g -O1 -w -o returns returns.cc; then
  "$patchbay" calls -t -o lines -e 'o_*' -- ./returns >/dev/null 2>err
  same "the status of a program that a function ends" 3 $?
  same "what returns objects has its calls inside, and is there when it does not return" \
    'o_top(1) {
  o_text(1) {
    o_leaf(1) = 1
  } = "x"
  o_three(1) {
    o_leaf(1) = 1
  } = {a=1, b=2, c=3}
} = 1
o_rec(2) {
  o_rec(1) {
    o_rec(0) = {a=1, b=0}
  } = {a=2, b=0}
} = {a=3, b=0}
o_fails(2) {
  o_fails(1) {
    o_fails(0) = -1
  } = -1
} = -1
o_parse("{") = ? <left by exception std::runtime_error: no brace>
o_parse("ok") = "ok"
o_jump(1) {
  o_leaf(0) = 0
  o_end(3) <unfinished ...>
} <unfinished ...>' "$(sed -E 's/ <[0-9.]+ ms>//; s:  /\* .* \*/$::' lines)"
  same "nothing else is said" "patchbay: -e 'o_*' means 9 functions" "$(cat err)"
  "$patchbay" calls -k -o lines -e o_rec -- ./returns >/dev/null 2>err
  same "who has called them" 3 "$(grep -c '^    main+0x' lines)"
  "$patchbay" calls -k -o lines -e 'int r = o_leaf(int n)' -- ./returns >/dev/null 2>err
  has "there is none of a whole call" "$(cat err)" 'o_leaf\(\) is written as a whole call.*no stack'
  for how in "-e o_rec" "--errors-only -e o_fails"; do
    # shellcheck disable=SC2086
    "$patchbay" calls -c -o table $how -- ./returns deep >/dev/null 2>err
    same "$how: the time of a recursion is that of its outermost call" "101 1" \
      "$(awk 'NR > 1 { print $1, $3 - $5 < 0.0011 }' table)"
  done
else
  fail "returns.cc does not compile"
fi
"$patchbay" calls -e 'no_such_function(x64 a, string b)' -- true >out 2>err
has "an error shows what was written" "$(cat err)" \
  "^patchbay calls: -e 'no_such_function\(x64 a, string b\)':$"

# --- calls that are left by exceptions, as the program says them
cat >throws.cc <<'EOC'
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>
#define CALL extern "C" __attribute__((noinline, used))
#define KEEP __asm__ volatile("" ::: "memory")
namespace shop {
struct Empty : std::out_of_range {
  using std::out_of_range::out_of_range;
};
struct Plain {};
struct Both : Plain, std::runtime_error {
  Both() : std::runtime_error("both") {}
};
}  // namespace shop
struct Cleaner {
  ~Cleaner() { KEEP; }
};
static jmp_buf place;
CALL int ex_throw(int how) {
  KEEP;
  switch (how) {
    case 1: throw std::runtime_error("one\n");
    case 2: throw shop::Empty("no such shelf");
    case 3: throw 42;
    case 4: throw shop::Plain();
    case 5: throw shop::Both();
    case 6: throw std::system_error(2, std::generic_category(), "open");
    case 7: throw std::bad_exception();
  }
  return how;
}
CALL int ex_through(int how) {
  Cleaner cleaner;
  return ex_throw(how) + 1;
}
CALL int ex_again(int how) {
  try {
    return ex_throw(how);
  } catch (...) {
    throw;
  }
}
CALL int ex_copied(std::exception_ptr* kept) {
  try {
    ex_throw(1);
  } catch (...) {
    *kept = std::current_exception();
  }
  return 1;
}
CALL void ex_copy(std::exception_ptr* kept) { std::rethrow_exception(*kept); }
CALL int ex_inside(int how) {
  int sum = 0;
  try {
    sum = ex_throw(how);
  } catch (...) {
    sum = -how;
  }
  return sum;
}
// Catches, and is left by longjmp() then.
CALL int ex_jumps(int how) {
  try {
    ex_throw(how);
  } catch (...) {
    KEEP;
  }
  longjmp(place, 1);
}
CALL int ex_set(int how) { return setjmp(place) ? 7 : ex_jumps(how); }
template <typename F>
static void held(F call) {
  try {
    call();
  } catch (...) {
  }
}
CALL int ex_outer(int how) {
  held([&] { ex_through(how); });
  return how;
}
int main() {
  const char* const texts[] = {"std::runtime_error: one\\n", "shop::Empty: no such shelf", "int",
                               "shop::Plain", "shop::Both",
                               "std::system_error: open: No such file or directory",
                               "std::bad_exception"};
  for (int how = 1; how <= 7; how++) {
    ex_outer(how);
    printf("ex_throw(%d) = ? <left by exception %s>\n", how, texts[how - 1]);
    printf("ex_through(%d) = ? <left by exception %s>\nex_outer(%d) = %d\n", how, texts[how - 1],
           how, how);
  }
  ex_inside(2);
  printf("ex_throw(2) = ? <left by exception %s>\nex_inside(2) = -2\n", texts[1]);
  held([&] { ex_again(2); });
  printf("ex_throw(2) = ? <left by exception %s>\n", texts[1]);
  printf("ex_again(2) = ? <left by exception %s>\n", texts[1]);
  std::exception_ptr kept;
  ex_copied(&kept);
  printf("ex_throw(1) = ? <left by exception %s>\nex_copied(%p) = 1\n", texts[0], (void*)&kept);
  held([&] { ex_copy(&kept); });
  printf("ex_copy(%p) = ? <left by exception std::runtime_error>\n", (void*)&kept);
  ex_set(3);
  puts("ex_throw(3) = ? <left by exception int>\nex_jumps(3) = ? <no return seen>\nex_set(3) = 7");
  ex_outer(0);
  printf("ex_throw(0) = 0\nex_through(0) = 1\nex_outer(0) = 0\n");
  fflush(stdout);
  std::thread threads[4];
  for (int i = 0; i < 4; i++)
    threads[i] = std::thread([i] { for (int n = 0; n < 500; n++) ex_outer(i % 2 + 2); });
  for (std::thread& thread : threads) thread.join();
  _Exit(0);
}
EOC
if "${CXX:-c++}" -g -O1 -w -o throws throws.cc -pthread; then
  "$patchbay" calls -o lines -e 'ex_*' -- ./throws >printed 2>err
  same "the program's status" 0 $?
  # A function whose calls nobody outside of them ends.
  "$patchbay" calls -o alone -e ex_through -- ./throws >/dev/null 2>err
  same "none is left open" 0 "$(grep -c -e unfinished -e 'no return' alone)"
  sed -E 's/ <[0-9]+\.[0-9]+ ms>$//; s/^\[[0-9]*\] //' lines >shown
  same "each exception, as soon as it is caught" "$(cat printed)" \
    "$(head -n "$(wc -l <printed)" shown)"
  same "in threads, each its own" \
    "1000 (2) = ? <left by exception shop::Empty: no such shelf>
1000 (3) = ? <left by exception int>" \
    "$(tail -n +"$(($(wc -l <printed) + 1))" shown | sed -n 's/^ex_through(/(/p' | sort |
      uniq -c | sed 's/^ *//' | sort)"
else
  fail "throws.cc does not compile"
fi

# --- which exception: beside one that a destructor throws, longjmp(), and a fiber that waits
cat >which.cc <<'EOC'
#include <csetjmp>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>
#define CALL extern "C" __attribute__((noinline, used))
#define KEEP __asm__ volatile("" ::: "memory")
static jmp_buf place;
static ucontext_t main_context, fiber;
CALL void on_throw(int n) {
  char room[64];
  __asm__ volatile("" ::"r"(room) : "memory");
  if (n == 1) throw std::runtime_error("one");
  throw std::logic_error("two");
}
struct Noisy {
  ~Noisy() {
    char room[256];
    __asm__ volatile("" ::"r"(room) : "memory");
    try { on_throw(2); } catch (std::logic_error&) { KEEP; }
  }
};
CALL void on_deep(int n) {  // deeper than the destructor
  char room[2048];
  __asm__ volatile("" ::"r"(room) : "memory");
  if (n) on_deep(n - 1); else on_throw(1);
  KEEP;
}
CALL void on_middle() { Noisy noisy; on_deep(2); }
CALL void on_jump() { longjmp(place, 1); }
CALL void on_jumped() { if (!setjmp(place)) on_jump(); KEEP; on_throw(1); }
CALL void on_swap(int n) {
  __asm__ volatile("" ::"r"(n));
  swapcontext(&fiber, &main_context);
  KEEP;
}
static void run_fiber() { on_swap(7); }
template <typename F>
__attribute__((noinline)) static void held(F call) {
  try {
    call();
  } catch (std::exception&) {
    KEEP;
  }
}
int main() {
  held([] { on_middle(); });
  held([] { on_jumped(); });
  // A fiber's stack below that of main(), near it where there is room.
  char here;
  const int how = MAP_PRIVATE | MAP_ANONYMOUS;
  char* stack = (char*)MAP_FAILED;
  for (unsigned long down = 12ul << 20; stack == MAP_FAILED && down < 60ul << 20; down += 1 << 20)
    stack = (char*)mmap((char*)((unsigned long)&here - down & ~0xffful), 1 << 16,
                        PROT_READ | PROT_WRITE, how | MAP_FIXED_NOREPLACE, -1, 0);
  if (stack == MAP_FAILED)
    stack = (char*)mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, how, -1, 0);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = 1 << 16;
  fiber.uc_link = &main_context;
  makecontext(&fiber, run_fiber, 0);
  swapcontext(&main_context, &fiber);
  held([] { on_throw(1); });
  swapcontext(&main_context, &fiber);
}
EOC
if "${CXX:-c++}" -g -O1 -w -o which which.cc; then
  "$patchbay" calls -o lines -e 'on_*' -- ./which >/dev/null 2>err
  same "each call is left by its own" "on_throw(2) = ? <left by exception std::logic_error: two>
on_throw(1) = ? <left by exception std::runtime_error: one>
on_deep(0) = ? <left by exception std::runtime_error: one>
on_deep(1) = ? <left by exception std::runtime_error: one>
on_deep(2) = ? <left by exception std::runtime_error: one>
on_middle() = ? <left by exception std::runtime_error: one>
on_throw(1) = ? <left by exception std::runtime_error: one>
on_jump() = ? <no return seen>
on_jumped() = ? <left by exception std::runtime_error: one>
on_throw(1) = ? <left by exception std::runtime_error: one>
on_swap(7)" "$(sed -E 's/ <[0-9]+\.[0-9]+ ms>$//' lines)"
else
  fail "which.cc does not compile"
fi

# --- a table, whose counts the program prints: threads, recursion, exceptions, longjmp, exit()
"$patchbay" calls -c -o table -e 'calls_*' -- "$programs/graph_calls" >printed 2>err
same "the table's program" 0 $?
same "counts of each function" "$(awk '{ print $2, "calls_" $1 }' printed | sort)" \
  "$(awk 'NR > 1 { print $1, $NF }' table | sort)"
"$patchbay" calls -o lines -e 'calls_*' -- "$programs/graph_calls" >printed 2>err
same "as many lines as calls" "$(awk '{ sum += $2 } END { print sum }' printed)" \
  "$(grep -c 'calls_' lines)"
same "what is open at exit()" "calls_end(0) <unfinished ...>
calls_outer(0) <unfinished ...>" "$(grep unfinished lines | sed 's/^\[[0-9]*\] //')"
# Every call of a thread stands behind those that it has made.
same "threads" 2 "$(grep -c 'calls_thread(.*) = ' lines)"

# --- ls, which has no debug information
mkdir many && touch many/{a,b,c}
"$patchbay" calls -e opendir -e readdir -e closedir -e getenv -- ls many >out 2>err
same "what ls prints is untouched" "a b c " "$(tr '\n' ' ' <out)"
has "a text and a pointer" "$(cat err)" '^opendir\("many"\) = 0x[0-9a-f]+ <[0-9.]+ ms>$'
has "the end of the directory" "$(cat err)" '^readdir\(0x[0-9a-f]+\) = NULL <'
has "a number" "$(cat err)" '^closedir\(0x[0-9a-f]+\) = 0 <'
same "each entry, and the end" 6 "$(grep -c '^readdir(' err)"
has "a text as result" "$(cat err)" "^getenv\\(\"[A-Z_]+\"\\) = (NULL|\".*\") <"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  # The program's own calls, and the kernel's: the linker's come before main().
  : >text
  strace -e trace=openat -o kernel cat text text text missing >/dev/null 2>&1
  "$patchbay" calls -o lines -e open -e openat -e open64 -- cat text text text missing \
    >/dev/null 2>&1
  same "calls of open beside strace" "$(grep -cE '"(text|missing)"' kernel)" \
    "$(grep -cE '"(text|missing)"' lines)"
  same "and their failures" 1 "$(grep -cE '"missing".* = -1 ENOENT <' lines)"
fi

# --- why calls fail, beside what the program itself finds in errno, and what strace says
cat >fails.c <<'EOC'
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void says(const char* function) { printf("%s %s\n", function, strerrorname_np(errno)); }
#define FAILS(call) (errno = E2BIG, (void)!(call), says(strtok(strdup(#call), "(")))
__attribute__((noinline, used)) int own_open(const char* path) {
  __asm__ volatile("" ::: "memory");
  errno = path ? ELOOP : 0;
  return -1;
}
static void* thread(void* unused) {
  FAILS(rmdir("/proc/self/nothing"));
  return unused;
}
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  char buffer[8];
  struct stat status;
  FAILS(open("/nonexistent/a", O_RDONLY));
  FAILS(openat(-1, "a", O_RDONLY));
  FAILS(close(-1));
  FAILS(read(-1, buffer, 1));
  FAILS(write(-1, buffer, 1));
  FAILS(lseek(0, 0, 99));
  FAILS(chdir("/etc/passwd"));
  FAILS(mkdir("/", 0777));
  FAILS(rmdir("/"));
  FAILS(unlink("/"));
  FAILS(stat("/nonexistent", &status));
  FAILS(readlink("/", buffer, 8));
  FAILS(kill(1, 9999));
  FAILS(dup2(0, -1));
  FAILS(socket(9999, 0, 0));
  FAILS(waitpid(1, NULL, 0));
  FAILS(fopen("/nonexistent", "r"));
  FAILS(fopen("/etc/passwd", "?"));
  FAILS(opendir("/nonexistent"));
  FAILS(getcwd(buffer, 1));
  FAILS(malloc(~0ul >> 1));
  FAILS(own_open("x"));
  pthread_t other;
  if (pthread_create(&other, NULL, thread, NULL) == 0) pthread_join(other, NULL);
  // What is no failure shows no error, whatever errno is.
  errno = ENOENT;
  DIR* directory = opendir("/proc/self/task");
  while (readdir(directory)) continue;
  closedir(directory);
  errno = ENOENT;
  if (getenv("NONE_OF_THIS_NAME")) return 1;
  errno = ENOENT;
  FILE* file = fopen("/dev/null", "r");
  char* line = NULL;
  size_t size = 0;
  if (getline(&line, &size, file) != -1) return 1;
  fclose(file);
  errno = ENOENT;
  if (realloc(malloc(3), 0)) return 1;
  return pthread_kill(pthread_self(), 9999) == EINVAL ? 0 : 1;
}
EOC
if "${CC:-cc}" -O1 -w -fno-builtin -o fails fails.c -pthread; then
  mkdir -p config/patchbay/prototypes
  printf '%s\n' '// one of ours' 'int own_open(const char *path); // errno' \
    >config/patchbay/prototypes/own.h
  functions=()
  for name in $(./fails | cut -d' ' -f1 | sort -u); do functions+=(-e "$name"); done
  XDG_CONFIG_HOME=$PWD/config "$patchbay" calls -o lines "${functions[@]}" -e readdir \
    -e getenv -e pthread_kill -e getline -e getdelim -e realloc -- ./fails >printed 2>err
  same "its status" 0 $?
  same "the program's errors are its own" "$(./fails)" "$(cat printed)"
  # Without what fopen() calls within libc.
  same "the error of each call that has failed" "$(cat printed)" \
    "$(grep -v '^open("/nonexistent",' lines |
    sed -nE 's/^(\[[0-9]+\] )?([a-z_0-9]+)\(.*\) = (-1|NULL) (E[A-Z0-9]+) <.*/\2 \4/p')"
  has "an error as the result" "$(cat lines)" \
    '^(\[[0-9]+\] )?pthread_kill\(.*\) = 22 EINVAL <'
  has "the end of a file is none" "$(cat lines)" '(^|\] )get(line|delim)\(.*\) = -1 <'
  has "nor is what realloc() frees" "$(cat lines)" '(^|\] )realloc\(.*, 0\) = NULL <'
  has "the end of a directory is none" "$(cat lines)" '(^|\] )readdir\(.*\) = NULL <'
  has "nor is a name that is not there" "$(cat lines)" '(^|\] )getenv\("NONE.*\) = NULL <'
  # As fields: a filter, and a histogram of why open() fails.
  "$patchbay" record -q -o fields.dat \
    -e 'r:why open fd=$retval:s32 errno=$errno' -f 'fd == -1 && errno == 2' -- ./fails \
    >/dev/null 2>err
  has "errno is a field" "$("$patchbay" report -i fields.dat 2>err)" ' fd=-1 errno=2$'
else
  fail "fails.c does not compile"
fi

# --- a library that comes by dlopen()
cat >late.c <<'EOC'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* library = dlopen("./liblate.so", RTLD_NOW);
  if (!library) return 1;
  int (*late)(int) = (int (*)(int))dlsym(library, "late_call");
  return late(20) - 41;
}
EOC
echo 'int late_call(int n) { return 2 * n + 1; }' |
  "${CC:-cc}" -g -O1 -shared -fPIC -x c - -o liblate.so
"${CC:-cc}" -O1 -o late late.c -ldl
"$patchbay" calls -o lines -e 'liblate:late_call(int n)' -- ./late 2>err
same "a library that comes later" "0 1" "$? $(grep -cE '^late_call\(20\) = 0x29 <' lines)"

# --- statuses and mistakes
"$patchbay" calls -e getenv -- sh -c 'exit 3' >/dev/null 2>&1
same "the program's status" 3 $?
"$patchbay" calls -e getenv -- sh -c 'kill -9 $$' >/dev/null 2>&1
same "the signal that has killed it" 137 $?
"$patchbay" calls -e no_such_call -- touch ran 2>err
same "a function that is not there" 1 $?
has "is said" "$(cat err)" "There is no function 'no_such_call' in the process"
same "and nothing runs" "" "$(ls ran 2>/dev/null)"
"$patchbay" calls 2>err
same "a program is needed" 2 $?
"$patchbay" calls -e f --longer 3 -- true 2>err
same "a time has its unit" 2 $?
"$patchbay" calls -e abort -- true 2>err
same "nothing was called" 0 $?
has "and that is said" "$(cat err)" "'abort' was not hit"
"$patchbay" calls --longer 1000s -e opendir -- ls / >/dev/null 2>err
has "calls that are not shown were made" "$(cat err)" 'none of 1 calls is one that'
# What libc's debug information says of unlink(), if it is installed, is an assembler's.
has "a system call's stub has arguments" \
  "$("$patchbay" calls -e unlink -e unlinkat -- rm -f "$work/none" 2>&1)" \
  '^unlink(at)?\(.*"[^"]*/none".*\) = -1'

# --- more than was asked of it: deep recursion, nobody who reads, lost events
cat >deep.c <<'EOC'
#include <stdlib.h>
__attribute__((noinline)) long down(long n) {
  volatile long below = n ? down(n - 1) : 0;
  return below + 1;
}
__attribute__((noinline)) long same_again(long n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(int argc, char** argv) {
  if (argc > 1) return down(atol(argv[1])) == 0;
  for (long n = 0; n < 2000000; n++)
    if (same_again(n) != n) return 1;
  return 7;
}
EOC
cc -O1 -g -fno-optimize-sibling-calls -o deep deep.c || fail "deep.c"
"$patchbay" calls -o lines -e down -- ./deep 10000 2>err
same "each call of a deep recursion has its result" 10001 "$(grep -cE '^down\([0-9]+\) = ' lines)"
same "no return was missed" 0 "$(grep -c 'no return seen' lines)"
whole=$("$patchbay" calls -c -e down -- ./deep 1000 2>&1 |
  awk '$NF == "down" { print $1, $3 <= $5 + 0.001 }')
same "the total is the outermost call's" "1001 1" "$whole"
"$patchbay" calls -e same_again -- ./deep 2> >(head -n 1 >first)
same "a reader that leaves is an error that CMD does not see" 1 $?
cat >rare.c <<'EOC'
__attribute__((noinline)) int rare(int n, const char* text) {
  __asm__ volatile("" : "+r"(n), "+r"(text));
  return n % 1000 ? n : -1;
}
int main(void) {
  for (int n = 1; n <= 500000; n++) rare(n, "a text");
  return 5;
}
EOC
cc -O1 -g -o rare rare.c || fail "rare.c"
"$patchbay" calls --errors-only -o lines -e rare -- ./rare 2>err
same "no failed call is lost among those that have not failed" "5 500 500" \
  "$? $(grep -cE '^rare\([0-9]+000, "a text"\) = -1 <' lines) $(wc -l <lines)"
"$patchbay" calls -o lines -e same_again -- ./deep 2>err
same "its status" 7 $?
same "no call has another one's result, also where events were lost" "" \
  "$(sed -n 's/^same_again(\([0-9]*\)) = \([0-9]*\) .*/\1 \2/p' lines | awk '$1 != $2' | head -n 3)"

# --- a process that runs
mkfifo input
"$programs/graph_calls" stay <input >own_output 2>&1 &
pid=$!
started $pid
exec 7>input
wait_for 60 test -e /proc/$pid/exe || fail "the process does not start"
"$patchbay" calls -p $pid -o lines -e calls_middle -e calls_leaf 2>err &
calls=$!
started $calls
wait_for 60 grep -q '^calls_middle' lines || fail "no line comes while it runs"
kill -INT $calls
wait $calls
same "Ctrl-C ends it" 0 $?
has "a call" "$(cat lines)" '^calls_leaf\(-?[0-9]+\) = -?[0-9]+ <[0-9.]+ ms>$'
has "the last line is whole" "$(tail -n 1 lines)" '(ms>|unfinished \.\.\.>)$'
check "the process goes on" kill -0 $pid
same "nothing is left behind" "" "$(ls -A "$PATCHBAY_DIR")"
exec 7>&-
wait $pid
same "its own end" 0 $?
finish
