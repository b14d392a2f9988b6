// SPDX-License-Identifier: MIT
//
// Work for tracers that come and go: threads that call, recurse, throw, jump, end within calls,
// fork and take signals, round after round, and check each result. Goes on until its input ends, at
// least one round; then prints how many results were wrong and what the first round came to, which
// is the same in every run. Its functions begin with chaos_.
//
//   chaos_calls </dev/null
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#ifdef __clang__
#define CALL extern "C" __attribute__((noinline, optnone, used))
#else
#define CALL extern "C" __attribute__((noipa, used))
#endif

struct Three {
  long a, b, c;
};
struct Pair {
  double x;
  long y;
};

CALL long chaos_leaf(long n) { return n + 1; }
CALL long chaos_middle(long n) {
  long sum = 0;
  for (int i = 0; i < 4; ++i) sum += chaos_leaf(n + i);
  return sum;
}
CALL long chaos_recurse(long n) { return n == 0 ? 0 : chaos_recurse(n - 1) + 1; }
CALL long chaos_odd(long n);
CALL long chaos_even(long n) { return n == 0 ? 1 : chaos_odd(n - 1); }
CALL long chaos_odd(long n) { return n == 0 ? 0 : chaos_even(n - 1); }
CALL double chaos_double(double x, float y) { return x * 2 + y; }
CALL long double chaos_long_double(long double x) { return x / 4; }
CALL __int128 chaos_wide(__int128 n) { return n * 3; }
CALL Three chaos_three(long n) { return {n, n + 1, n + 2}; }
CALL Pair chaos_pair(long n) { return {n * 0.5, n}; }
CALL long chaos_ten(long a, long b, long c, long d, long e, long f, long g, long h, long i,
                    long j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}
CALL long chaos_variadic(int count, ...) {
  va_list list;
  va_start(list, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, double);
  va_end(list);
  return static_cast<long>(sum);
}
CALL long chaos_throw(long n) {
  if (n % 3 != 0) throw std::runtime_error(std::to_string(n));
  return n;
}
CALL long chaos_pass(long n) {
  std::string held(static_cast<size_t>(n % 40), 'x');  // has a destructor
  return chaos_throw(n) + static_cast<long>(held.size()) - n % 40;
}
CALL long chaos_catch(long n) {
  try {
    return chaos_pass(n);
  } catch (const std::exception& error) {
    return std::atol(error.what());
  }
}
CALL long chaos_jump(std::jmp_buf& place, long n) {
  if (n >= 0) std::longjmp(place, 7);
  return n;
}
CALL long chaos_set(long n) {
  std::jmp_buf place;
  if (int got = setjmp(place)) return got + chaos_leaf(n);
  return chaos_jump(place, n);
}
CALL void* chaos_end_thread(void* argument) {
  if (argument) pthread_exit(argument);
  return nullptr;
}
CALL void* chaos_thread(void* argument) {
  chaos_leaf(1);
  return chaos_end_thread(argument);
}
CALL long chaos_join(long n) {
  pthread_t thread;
  void* got = nullptr;
  if (pthread_create(&thread, nullptr, chaos_thread, reinterpret_cast<void*>(n)) != 0) return -1;
  pthread_join(thread, &got);
  return reinterpret_cast<long>(got);
}
CALL long chaos_child(long n) { return chaos_recurse(n) + chaos_catch(n); }
CALL void chaos_leave(int status) { _exit(status); }
CALL long chaos_fork(long n) {
  pid_t child = fork();
  if (child == 0) chaos_leave(static_cast<int>(chaos_child(n)));
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}
CALL void chaos_exec() { execl("/bin/true", "true", nullptr); }
CALL long chaos_spawn(long n) {
  pid_t child = vfork();
  if (child == 0) {
    chaos_exec();
    _exit(9);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) + n : -2;
}
static std::atomic<long> signals;
CALL void chaos_signal(int) { signals += chaos_leaf(0); }

static std::atomic<long> wrong;
static void is(const char* what, long number, bool right) {
  if (!right && wrong++ < 20) std::fprintf(stderr, "wrong: %s(%ld)\n", what, number);
}
// One round of the calls that cost little; their sum.
static long round_of(long n) {
  long sum = 0;
  auto add = [&](const char* what, long got, long wanted) {
    is(what, n, got == wanted);
    sum += got;
  };
  add("middle", chaos_middle(n), 4 * n + 10);
  add("recurse", chaos_recurse(n % 50), n % 50);
  add("even", chaos_even(n % 100), n % 2 == 0);
  add("double", static_cast<long>(chaos_double(static_cast<double>(n), 1.0F)), 2 * n + 1);
  add("long double", static_cast<long>(chaos_long_double(4.0L * static_cast<long double>(n))), n);
  add("wide", static_cast<long>(chaos_wide(static_cast<__int128>(n) << 70) >> 70), 3 * n);
  Three three = chaos_three(n);
  add("three", three.a + three.b + three.c, 3 * n + 3);
  Pair pair = chaos_pair(n);
  add("pair", static_cast<long>(pair.x * 2) + pair.y, 2 * n);
  add("ten", chaos_ten(n, 1, 2, 3, 4, 5, 6, 7, 8, 9), n + 330);
  add("variadic", chaos_variadic(3, 1.0, 2.0, static_cast<double>(n)), n + 3);
  add("catch", chaos_catch(n), n);
  add("set", chaos_set(n), n + 8);
  return sum;
}

static std::atomic<bool> stop;
static void* work(void* argument) {
  long n = reinterpret_cast<long>(argument);
  do {
    for (long i = 0; i < 100; ++i) round_of(n + i);
  } while (!stop);
  return nullptr;
}
static void* work_of_processes(void*) {
  do {
    is("join", 5, chaos_join(5) == 5);
    is("fork", 20, chaos_fork(20) == 40);
    is("spawn", 3, chaos_spawn(3) == 3);
  } while (!stop);
  return nullptr;
}

int main() {
  struct sigaction action = {};
  action.sa_handler = chaos_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGVTALRM, &action, nullptr);
  itimerval interval = {{0, 3000}, {0, 3000}};
  setitimer(ITIMER_VIRTUAL, &interval, nullptr);
  pthread_t threads[4];
  for (long i = 0; i < 3; ++i)
    pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i * 1000));
  pthread_create(&threads[3], nullptr, work_of_processes, nullptr);
  long first = round_of(17);
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 5) <= 0) is("round", 17, round_of(17) == first);
  stop = true;
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  std::printf("round %ld, wrong %ld\n", first, wrong.load());
  return wrong == 0 ? 3 : 1;
}
