// SPDX-License-Identifier: MIT
#include "attach/thread_choice.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

#include "attach/stopped_thread.h"
#include "attach/target_fixture.h"

namespace patchbay::attach {
namespace {

// What is answered for the one thread of a program that stands in `run`, as soon as it is `wanted`.
struct Answer {
  bool is_candidate = false;
  Status may_use;
};
Answer ask(pid_t pid) {
  Answer answer;
  auto libc = TargetLibc::find(pid);
  EXPECT_TRUE(libc.ok());
  const ThreadChoice choice(pid, *libc);
  const std::vector<pid_t> found = choice.candidates();
  answer.is_candidate = found == std::vector<pid_t>{pid};
  const Target target = target_of(pid);
  auto thread = StoppedThread::stop(target, pid, kPatienceMs);
  EXPECT_TRUE(thread.ok()) << thread.error().message();
  if (thread.ok())
    answer.may_use = choice.may_use(pid, (*thread)->call_at_stop(), (*thread)->registers());
  return answer;
}

void expect_used(const std::function<void(TargetShared&)>& run) {
  TargetProgram program(run);
  EXPECT_TRUE(soon([&] {
    const Answer answer = ask(program.pid());
    return answer.is_candidate && answer.may_use.ok();
  }));
}

// For long enough that a chance would be seen.
void expect_refused(const char* part, const std::function<void(TargetShared&)>& run) {
  TargetProgram program(run);
  std::string said;
  EXPECT_TRUE(soon([&] {
    const Answer answer = ask(program.pid());
    said = answer.may_use.ok() ? "" : answer.may_use.error().message();
    return said.find(part) != said.npos;
  })) << said;
  for (int i = 0; i < 20; i++) EXPECT_FALSE(ask(program.pid()).may_use.ok());
}

TEST(ThreadChoice, WaitsSleepsAndLoopsAreGood) {
  expect_used([](TargetShared& shared) {
    epoll_event event;
    const int epoll = ::epoll_create1(0);
    for (shared.is_ready = 1;;) ::epoll_wait(epoll, &event, 1, -1);
  });
  expect_used([](TargetShared& shared) {
    for (shared.is_ready = 1;;) ::usleep(100000000);
  });
  expect_used([](TargetShared& shared) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    ::pthread_mutex_lock(&mutex);
    for (shared.is_ready = 1;;) ::pthread_cond_wait(&condition, &mutex);
  });
  expect_used([](TargetShared& shared) {
    for (shared.is_ready = 1;;) shared.rounds.fetch_add(1, std::memory_order_relaxed);
  });
}

TEST(ThreadChoice, ALockIsNot) {
  expect_refused("may hold a lock", [](TargetShared& shared) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&mutex);
    shared.is_ready = 1;
    ::pthread_mutex_lock(&mutex);
  });
}

// A handler may stand on malloc(): here on pause(), which is libc's as well.
TEST(ThreadChoice, AHandlerThatHasInterruptedLibcIsNot) {
  static TargetShared* seen;
  expect_refused("handles a signal", [](TargetShared& shared) {
    seen = &shared;
    struct sigaction action = {};
    action.sa_handler = [](int) {
      for (seen->is_ready = 1;;) ::pause();
    };
    ::sigaction(SIGALRM, &action, nullptr);
    ::ualarm(10000, 0);
    for (;;) ::pause();
  });
}

TEST(ThreadChoice, AHandlerThatHasInterruptedTheProgramIs) {
  static TargetShared* seen;
  expect_used([](TargetShared& shared) {
    seen = &shared;
    struct sigaction action = {};
    action.sa_handler = [](int) {
      for (seen->is_ready = 1;;) ::pause();
    };
    ::sigaction(SIGALRM, &action, nullptr);
    ::ualarm(10000, 0);
    for (;;) shared.rounds.fetch_add(1, std::memory_order_relaxed);
  });
}

TEST(ThreadChoice, FindsWhatAnObjectExports) {
  void* const libc = ::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  Dl_info info;
  ASSERT_NE(::dladdr(::dlsym(libc, "getppid"), &info), 0);
  ::dlclose(libc);
  const auto start = reinterpret_cast<uint64_t>(info.dli_fbase);
  for (const char* name : {"malloc", "free", "epoll_wait", "pthread_create", "_exit"})
    EXPECT_TRUE(exports_function(::getpid(), start, name)) << name;
  for (const char* name : {"mallo", "mallocs", "", "patchbay_attached", "_int_malloc"})
    EXPECT_FALSE(exports_function(::getpid(), start, name)) << name;
  EXPECT_FALSE(exports_function(::getpid(), 16, "malloc"));
  EXPECT_FALSE(exports_function(::getpid(), reinterpret_cast<uint64_t>(&info) & ~4095ull, "x"));
}

}  // namespace
}  // namespace patchbay::attach
