#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay calls: values have the names that the source has for them. libc's beside strace, line by
# line; those of a C++ program as it says itself; those of a file of prototypes.
#   call_values.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit
export XDG_CONFIG_HOME=$work/config

# --- libc's. Both see the same calls between two marks; what they show of pointers differs.
cat >system.c <<'EOC'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void) {
  access("/mark", F_OK);
  access("system.c", R_OK);
  access("system.c", R_OK | W_OK | X_OK);
  const int flags[] = {O_RDONLY, O_RDONLY | O_CLOEXEC, O_WRONLY | O_APPEND | O_NOCTTY,
                       O_RDWR | O_NONBLOCK | O_NOFOLLOW, O_RDWR | O_SYNC, O_RDWR | O_DSYNC,
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC, O_PATH | O_RDONLY, O_ACCMODE,
                       O_RDWR | O_NOATIME | 0x40000000};
  for (int i = 0; i < 10; i++) openat(AT_FDCWD, "system.c", flags[i]);
  int file = openat(AT_FDCWD, "made", O_RDWR | O_CREAT | O_EXCL | O_TRUNC, 0600);
  openat(file, "none", O_RDONLY);
  fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 8192);
  ftruncate(file, 8192);
  fcntl(file, F_GETFD);
  fcntl(file, F_SETFD, FD_CLOEXEC);
  fcntl(file, F_GETFL);
  fcntl(file, F_SETFL, O_NONBLOCK);
  fcntl(file, F_DUPFD_CLOEXEC, 100);
  const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE};
  for (int i = 0; i < 5; i++) lseek(file, i, whence[i]);
  flock(file, LOCK_EX | LOCK_NB);
  flock(file, LOCK_UN);
  posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
  renameat2(AT_FDCWD, "made", AT_FDCWD, "other", RENAME_NOREPLACE);
  linkat(AT_FDCWD, "other", AT_FDCWD, "linked", AT_SYMLINK_FOLLOW);
  unlinkat(AT_FDCWD, "linked", 0);
  unlinkat(AT_FDCWD, "other", AT_REMOVEDIR);
  unlinkat(AT_FDCWD, "other", 0);
  utimensat(AT_FDCWD, "none", NULL, AT_SYMLINK_NOFOLLOW);
  void* p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mmap(NULL, 4096, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED_VALIDATE | MAP_POPULATE, file, 0);
  mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS, -1, 0);
  mprotect(p, 4096, PROT_NONE);
  mprotect(p, 4096, PROT_READ | PROT_WRITE);
  madvise(p, 4096, MADV_DONTNEED);
  madvise(p, 4096, MADV_WILLNEED);
  msync(p, 4096, MS_SYNC);
  msync(p, 4096, MS_ASYNC | MS_INVALIDATE);
  mremap(p, 8192, 4096, MREMAP_MAYMOVE);
  memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  char random[4];
  getrandom(random, sizeof random, GRND_NONBLOCK);
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), pair[2];
  socket(AF_INET, SOCK_DGRAM, 0);
  socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socket(AF_UNIX, SOCK_SEQPACKET, 0);
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
  sendto(pair[0], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
  sendto(pair[0], "x", 1, 0, NULL, 0);
  recvfrom(pair[1], random, 1, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC, NULL, NULL);
  int one = 1;
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  accept4(s, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  shutdown(pair[0], SHUT_WR);
  shutdown(pair[0], SHUT_RDWR);
  pipe2(pair, O_NONBLOCK | O_CLOEXEC);
  pipe2(pair, 0);
  dup3(pair[0], 50, O_CLOEXEC);
  int ep = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(ep, EPOLL_CTL_ADD, pair[0], &event);
  epoll_ctl(ep, EPOLL_CTL_MOD, pair[0], &event);
  epoll_ctl(ep, EPOLL_CTL_DEL, pair[0], NULL);
  eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  struct itimerspec when = {};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
  int watch = inotify_init1(IN_NONBLOCK);
  inotify_add_watch(watch, ".", IN_CREATE | IN_DELETE | IN_ONLYDIR | IN_ONESHOT);
  kill(0x7fffffff, SIGTERM);
  kill(0x7fffffff, SIGABRT);
  kill(0x7fffffff, SIGIO);
  kill(0x7fffffff, SIGCHLD);
  kill(0x7fffffff, 0);
  int status;
  wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, NULL);
  wait4(-1, &status, 0, NULL);
  prctl(PR_SET_NAME, "named");
  prctl(PR_GET_DUMPABLE);
  struct rlimit limit;
  prlimit(0, RLIMIT_NOFILE, NULL, &limit);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  getrusage(RUSAGE_CHILDREN, &usage);
  getpriority(PRIO_PROCESS, 0);
  struct itimerval interval;
  getitimer(ITIMER_REAL, &interval);
  struct timespec past = {};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
  struct sched_param parameters = {};
  sched_setscheduler(0, SCHED_OTHER, &parameters);
  mount("none", "/no/such/place", "none", MS_RDONLY | MS_NOSUID | MS_REMOUNT, NULL);
  umount2("/no/such/place", MNT_DETACH);
  access("/mark", F_OK);
  return 0;
}
EOC
cat >compare.py <<'EOP'
# Lines of strace (KERNEL) and of patchbay (LINES) between the marks, as far as both say the same:
# without results, pointers and what they lead to; flags sorted.
import re, sys
NAMES = {"eventfd2": "eventfd", "fadvise64": "posix_fadvise", "prlimit64": "prlimit"}
# How many arguments both show.
FIRST = {"fcntl": 2, "prctl": 2, "setsockopt": 2, "openat": 4, "socket": 2}
POINTERS = {"sendto": [1], "recvfrom": [1], "getrandom": [0], "mount": [2]}
def arguments(text):
    parts, depth, quoted, now = [], 0, False, ""
    for i, c in enumerate(text):
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "{[(") - (c in "}])")
        if c == "," and depth == 0 and not quoted:
            parts.append(now.strip()); now = ""
        else:
            now += c
    return parts + [now.strip()]
def shown(line):
    line = re.sub(r"^\[\d+\] ", "", line)
    name, rest = line.split("(", 1)
    rest = re.split(r"\) += ", rest)[0]
    name = NAMES.get(name, name)
    given = arguments(rest)[: FIRST.get(name)]
    for i in POINTERS.get(name, []):
        given[i] = "POINTER"
    def one(text):
        if text[0] in "[{" or re.fullmatch(r"0x[0-9a-f]{9,}", text):
            return "POINTER"
        return text if text[0] == '"' else "|".join(sorted(text.split("|")))
    return f"{name}({', '.join(map(one, given))})"
def between_marks(path):
    lines = [line for line in open(path) if re.match(r"(\[\d+\] )?\w+\(", line)]
    marks = [i for i, line in enumerate(lines) if '"/mark"' in line]
    return [shown(line) for line in lines[marks[0] + 1 : marks[1]]]
kernel, ours = between_marks(sys.argv[1]), between_marks(sys.argv[2])
print(len(ours))
different = [f"strace  {a}\npatchbay {b}" for a, b in zip(kernel, ours) if a != b]
if len(kernel) != len(ours): different.append(f"{len(kernel)} and {len(ours)} calls")
print("\n".join(different), end="")
EOP
calls="access openat fallocate ftruncate fcntl lseek flock posix_fadvise renameat2 linkat unlinkat
  utimensat mmap mprotect madvise msync mremap memfd_create getrandom socket socketpair sendto
  recvfrom setsockopt accept4 shutdown pipe2 dup3 epoll_create1 epoll_ctl eventfd timerfd_create
  timerfd_settime inotify_init1 inotify_add_watch kill wait4 prctl prlimit getrusage getpriority
  getitimer clock_nanosleep sched_setscheduler mount umount2"
options=()
for one in $calls; do options+=(-e "$one"); done
"${CC:-cc}" -O1 -w -o system system.c || fail "system.c"
"$patchbay" calls -o lines "${options[@]}" -- ./system 2>err || fail "calls: $(cat err)"
has "open" "$(cat lines)" '^openat\(AT_FDCWD, "system\.c", O_RDONLY\|O_CLOEXEC\) = '
has "a bit without a name" "$(cat lines)" 'O_RDWR\|O_NOATIME\|0x40000000\)'
has "mmap" "$(cat lines)" \
  '^mmap\(NULL, 8192, PROT_READ\|PROT_WRITE, MAP_PRIVATE\|MAP_ANONYMOUS, -1, 0\) = 0x'
has "a mode, where a file is made" "$(cat lines)" \
  '^openat\(AT_FDCWD, "made", O_RDWR\|[A-Z_|]*, 0600\) = '
has "flags of a descriptor" "$(cat lines)" '^fcntl\([0-9]+, F_SETFL, O_RDONLY\|O_NONBLOCK\) = 0'
has "a command that takes nothing" "$(cat lines)" '^fcntl\([0-9]+, F_GETFL\) = '
has "a command that takes a number" "$(cat lines)" '^fcntl\([0-9]+, F_DUPFD_CLOEXEC, 100\) = 100'
has "in strace's order" "$(cat lines)" '^access\("system\.c", R_OK\|W_OK\|X_OK\)'
rm -f other
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  strace -o kernel ./system || fail "strace"
  python3 compare.py kernel lines >compared
  same "all of them" 91 "$(head -n 1 compared)"
  same "each call as strace shows it" "" "$(tail -n +2 compared)"
else
  echo "SKIPPED: no strace to compare with"
fi

# --- a program's own, as it says itself
cat >own.cc <<'EOC'
#include <cstdio>
#define OWN __attribute__((noinline, used))
template <typename T>
inline void use_one(T value) { __asm__ volatile("" ::"r"(value) : "memory"); }
template <typename... T>
inline void keep(T... values) { (use_one(values), ...); }  // what is not used is not passed
enum Color { kRed, kGreen = 7 };
enum class Mode : unsigned char { kSlow, kFast = 200 };
enum Access { kRead = 1, kWrite = 2, kRun = 4, kAll = kRead | kWrite | kRun };
enum Count { kZero, kOne, kTwo, kThree, kFour };
typedef enum { kNorth = -1, kSouth = 1 } direction;
enum class Big : long { kHuge = 1l << 40 };
OWN Color paint(Color c, int times) { keep(c, times); return times ? c : kGreen; }
OWN Mode run(Mode m, const Mode& other) { keep(m, &other); return m == other ? m : Mode::kFast; }
OWN int open_it(Access a, Count n) { keep(a, n); return int(a) + int(n); }
OWN direction turn(direction d) { keep(d); return d == kNorth ? kSouth : kNorth; }
OWN void far(Big b) { keep(b); }
namespace shop {
enum Size { kSmall, kLarge };
enum class State { kOpen, kShut };
OWN State close_it(Size s, State t, Color c) {
  keep(s, t, c);
  return s == kLarge ? t : State::kShut;
}
struct Box {
  enum Kind { kWood, kSteel };
  enum class Lid { kOn, kOff };
  OWN Lid lift(Kind k, Lid l) { keep(k, l); return k == kWood ? l : Lid::kOff; }
  OWN static void pass(State s, Mode m) { keep(s, m); }
};
}  // namespace shop
OWN int use(shop::Size s, shop::State t, shop::Box::Kind k, shop::Box::Lid l) {
  keep(s, t, k, l);
  return 0;
}
int main() {
  paint(kRed, 3); puts("paint(kRed, 3) = kRed");
  paint(kRed, 0); puts("paint(kRed, 0) = kGreen");
  paint(Color(5), 1); puts("paint(5, 1) = 5");
  Mode slow = Mode::kSlow;
  run(slow, slow); puts("run(Mode::kSlow, Mode::kSlow) = Mode::kSlow");
  run(Mode::kFast, slow); puts("run(Mode::kFast, Mode::kSlow) = Mode::kFast");
  run(Mode(9), slow); puts("run(9, Mode::kSlow) = Mode::kFast");
  open_it(kRead, kThree); puts("open_it(kRead, kThree) = 4");
  open_it(Access(kRead | kRun), Count(5)); puts("open_it(kRead|kRun, 5) = 10");
  open_it(kAll, Count(6)); puts("open_it(kAll, 6) = 13");
  open_it(Access(0), kZero); puts("open_it(0, kZero) = 0");
  open_it(Access(kWrite | 16), kOne); puts("open_it(kWrite|0x10, kOne) = 19");
  turn(kNorth); puts("turn(kNorth) = kSouth");
  turn(kSouth); puts("turn(kSouth) = kNorth");
  far(Big::kHuge); puts("far(Big::kHuge)");
  shop::close_it(shop::kLarge, shop::State::kOpen, kRed);
  puts("shop::close_it(kLarge, State::kOpen, kRed) = State::kOpen");
  shop::Box box;
  box.lift(shop::Box::kSteel, shop::Box::Lid::kOn);
  printf("shop::Box::lift(%p, kSteel, Lid::kOn) = Lid::kOff\n", (void*)&box);
  shop::Box::pass(shop::State::kShut, Mode::kFast);
  puts("shop::Box::pass(State::kShut, Mode::kFast)");
  use(shop::kSmall, shop::State::kOpen, shop::Box::kWood, shop::Box::Lid::kOff);
  puts("use(shop::kSmall, shop::State::kOpen, shop::Box::kWood, shop::Box::Lid::kOff) = 0");
}
EOC
own=(-e paint -e run -e open_it -e turn -e far -e 'shop::*' -e use)
for compiler in "${CXX:-g++}" clang++; do
  command -v "$compiler" >/dev/null || { echo "SKIPPED: no $compiler"; continue; }
  for version in 4 5; do
    "$compiler" "-gdwarf-$version" -O1 -w -o own own.cc || fail "$compiler: own.cc"
    "$patchbay" calls -o lines "${own[@]}" -- ./own >printed 2>err
    same "each call as the program says it ($compiler, DWARF $version)" "$(cat printed)" \
      "$(sed -E 's/ <[0-9]+\.[0-9]+ ms>$//' lines)"
  done
done

# --- a file of prototypes, for a program without debug information
mkdir -p config/patchbay/prototypes
cat >config/patchbay/prototypes/mine.h <<'EOC'
enum heading { NORTH = -1, EAST, SOUTH = 0x7 };
enum __attribute__((flag_enum)) rights { RIGHTS_READ = 1, RIGHTS_WRITE = 1 << 1 };
typedef enum { FEW, MANY = 0100 } amount;
enum broken { ONE = };
enum heading head(enum heading h, enum rights r, amount n);
EOC
cat >plain.c <<'EOC'
__attribute__((noinline, used)) int head(int h, int r, int n) {
  __asm__ volatile("" : "+r"(h));
  return h;
}
int main(void) { return head(-1, 3, 64) + head(7, 6, 0) + head(4, 0, 1) == 0; }
EOC
"${CC:-cc}" -O1 -o plain plain.c || fail "plain.c"
expected='head(NORTH, RIGHTS_READ|RIGHTS_WRITE, MANY) = NORTH
head(SOUTH, RIGHTS_WRITE|0x4, FEW) = SOUTH
head(4, 0, 1) = 4'
"$patchbay" calls -o lines -e head -- ./plain 2>err
same "a file of prototypes" "$expected" "$(sed -E 's/ <[0-9.]+ ms>$//' lines)"
"$patchbay" calls -o lines -e 'enum heading head(enum heading a, enum rights b, amount c)' -- \
  ./plain 2>err
same "a declaration that names its enumerations" "$expected" "$(sed -E 's/ <[0-9.]+ ms>$//' lines)"
has "its prototype" "$("$patchbay" probe -x ./plain --prototype head)" \
  '^head\(int h, int r, int n\)$'

# --- functions of one name, and what an optimizer has taken away from them
cat >a.c <<'EOC'
static __attribute__((noinline)) int helper(const char *unit, int factor, int value) {
  __asm__ volatile("" ::"r"(value));
  return value * factor + unit[0];
}
int use_a(int n) { return helper("m", 7, n + 4); }
EOC
cat >b.c <<'EOC'
int use_a(int n);
static __attribute__((noinline)) int helper(int a, int dead, double b) {
  __asm__ volatile("" ::"r"(a), "x"(b));
  return a + (int)b;
}
static __attribute__((noinline)) int thrown_away(char *dead) { return dead[0]; }
__attribute__((visibility("hidden"))) int nobody(void) { return thrown_away("dead"); }
int main(int argc, char **argv) { return use_a(argc) + helper(argc, 99, argc + 0.5) != 146; }
EOC
for how in "gcc -O0" "gcc -O2 -Wl,--gc-sections" "clang -O0" "clang -O2 -Wl,--gc-sections"; do
  command -v "${how%% *}" >/dev/null || skip "$how: there is no such compiler"
  # shellcheck disable=SC2086  # several words
  $how -g -ffunction-sections a.c b.c -o one || fail "$how"
  "$patchbay" calls -o lines -e helper -- ./one 2>err
  case $how in
    *-O0*) same "$how: each has its own" $'helper("m", 7, 5) = 144\nhelper(1, 99, 1.5) = 2' \
      "$(sed -E 's/ <[0-9.]+ ms>$//' lines)" ;;
    *) has "$how: right, or marked" "$(tr '\n' ' ' <lines)" \
      '^helper\((\?|"m"), (7|\?), 5\) = 144 .*helper\(1, (99|\?), 1\.5\) = 2' ;;
  esac
  "$patchbay" calls -c -e helper -o totals -- ./one 2>err
  same "$how: nothing is missed" "" "$(grep 'not hit' err)"
  has "$how: a row each" "$(tr '\n' ' ' <totals)" 'helper(@a\.c)? .*helper(@b\.c)? $'
  # gcc -O2 leaves a clone of one of them, which is another name.
  [[ $how == "gcc -O2"* ]] ||
    has "$how: a distribution each" \
      "$("$patchbay" latency helper -- ./one | grep 'times,' | sort | tr '\n' ' ')" \
      '^helper@a\.c: 1 times, .* helper@b\.c: 1 times,'
  for what in "hist helper keys=common_pid" "sql -e helper"; do
    # shellcheck disable=SC2086  # several words
    [[ $what != sql* ]] && "$patchbay" $what -- ./one >out 2>err
    [[ $what == sql* ]] && "$patchbay" $what 'select common_pid from helper' -- ./one >out 2>err
    has "$how: $what says what to write" "$(cat err)" \
      "'helper' means 2 functions, among them (helper@|one@0x).* and (helper@|one@0x).*: choose one"
  done
  same "$how: each call once" 2 "$(wc -l <lines)"
  "$patchbay" record -q -o one.dat -e 'int r = helper@b.c(*)' -- ./one 2>err
  has "$how: one of them by its file, with its result" "$("$patchbay" report -i one.dat)" \
    'helper(\.constprop\.[0-9])?\(a=1, dead=(99|\?), b=1\.5\) r=2 duration='
done
finish
