// SPDX-License-Identifier: MIT
//
// Attaches to a program whose threads do without end what an attach could disturb or be disturbed
// by. One thread waits, and must never see EINTR.
#include <dlfcn.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "attach/attach.h"
#include "attach/target_fixture.h"

namespace patchbay::attach {
namespace {

constexpr int kTimes = 60, kThreads = 2;
constexpr int kTimeoutMs = 20000;

void run_storm(TargetShared& shared, const std::function<void()>& work) {
  std::vector<std::thread> storm;
  for (int i = 0; i < kThreads; i++)
    storm.emplace_back([&] {
      while (!shared.ends) work(), shared.rounds++;
    });
  const int epoll = ::epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, shared.pipe[0], &event);
  shared.is_ready = 1;
  while (::epoll_wait(epoll, &event, 1, -1) != 1) shared.errors++;
  for (std::thread& thread : storm) thread.join();
}

void expect_unseen_by(const std::function<void()>& work) {
  TargetProgram program([&](TargetShared& shared) { run_storm(shared, work); });
  const auto fds = program.descriptors();
  for (int i = 0; i < kTimes; i++) {
    const auto arrived = attach(program.pid(), {kTestAgent, {}, kTimeoutMs});
    EXPECT_TRUE(arrived.ok()) << arrived.error().message();
  }
  const int rounds = program.shared().rounds;
  EXPECT_TRUE(soon([&] { return program.shared().rounds > rounds; }));
  EXPECT_TRUE(soon([&] { return program.descriptors() == fds; }));
  program.expect_good_end();
}

TEST(Storm, OfExceptions) {
  expect_unseen_by([] {
    try {
      throw std::runtime_error("no reason");
    } catch (const std::exception&) {
    }
  });
}

TEST(Storm, OfLibraries) {
  expect_unseen_by([] {
    if (void* library = ::dlopen("libm.so.6", RTLD_NOW)) ::dlclose(library);
    if (void* library = ::dlopen("attach/no_such_library.so", RTLD_NOW)) ::dlclose(library);
  });
}

TEST(Storm, OfThreads) {
  expect_unseen_by([] { std::thread([] { std::free(std::malloc(100)); }).join(); });
}

// The end of a child is a signal that the program ignores; a thread that is traced gets it.
TEST(Storm, OfChildren) {
  expect_unseen_by([] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  });
}

}  // namespace
}  // namespace patchbay::attach
