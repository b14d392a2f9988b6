// SPDX-License-Identifier: MIT
#include "base/last_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace patchbay {
namespace {

constexpr int kTries = 20000;  // a millisecond each, on a machine that is busy

[[noreturn]] void leave(int status) {
  for (;;) ::syscall(SYS_exit, status);
}

struct Process {
  int pipe[2] = {-1, -1};  // another thread lives until this is closed
  std::atomic<bool> first_may_leave{false};
};

void* until_closed(void* argument) {
  char byte;
  (void)!::read(static_cast<Process*>(argument)->pipe[0], &byte, 1);
  leave(0);
}

// Ends the process with what it finds.
void* watch(void* argument) {
  auto* process = static_cast<Process*>(argument);
  int wrong = is_last_thread(), tries = 0;  // the first thread lives
  process->first_may_leave = true;
  for (int i = 0; process->pipe[1] >= 0 && i < 50; i++, ::usleep(1000)) wrong += is_last_thread();
  ::close(process->pipe[1]);
  while (!is_last_thread() && ++tries < kTries) ::usleep(1000);
  ::_exit(wrong ? 100 : tries == kTries ? 101 : first_thread_status());
}

int status_found(int status, bool with_another, bool remembered) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (remembered) remember_first_thread();
    static Process process;
    pthread_t thread;
    if (with_another && ::pipe(process.pipe) == 0)
      ::pthread_create(&thread, nullptr, until_closed, &process);
    ::pthread_create(&thread, nullptr, watch, &process);
    while (!process.first_may_leave) ::usleep(1000);
    leave(status);
  }
  int result = 0;
  EXPECT_EQ(::waitpid(child, &result, 0), child);
  return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

TEST(LastThread, AThreadAloneIsTheFirst) {
  EXPECT_FALSE(is_last_thread());
  EXPECT_EQ(first_thread_status(), 0);
}

TEST(LastThread, FindsTheFirstOneGone) {
  EXPECT_EQ(status_found(41, false, false), 41);
  EXPECT_EQ(status_found(42, false, true), 42);
}

TEST(LastThread, WaitsForTheOthersToo) {
  EXPECT_EQ(status_found(7, true, false), 7);
  EXPECT_EQ(status_found(8, true, true), 8);
}

}  // namespace
}  // namespace patchbay
