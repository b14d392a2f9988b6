// SPDX-License-Identifier: MIT
#include "attach/exchange.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/target.h"
#include "base/monotonic_clock.h"
#include "base/unique_fd.h"
#include "serve/client.h"

namespace patchbay::attach {
namespace {

// An agent that has agreed to go, and says nothing more: a tool that is told to end does not wait
// for as long as an agent that is at work may take.
TEST(Exchange, ToldToEndNobodyWaitsForASilentAgent) {
  constexpr int kTimeoutMs = 60'000;
  const pid_t silent = ::fork();
  if (silent == 0) {
    for (;;) ::pause();
  }
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd ours(pair[0]), theirs(pair[1]);
  const auto target = Target::open(silent);
  ASSERT_TRUE(target.ok());
  serve::set_end_check([] { return true; });
  const int64_t begin = monotonic_ms();
  const auto done = run_exchange(ours.get(), target.value(), kTimeoutMs);
  EXPECT_LT(monotonic_ms() - begin, kTimeoutMs / 2);
  serve::set_end_check(nullptr);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().errno_value, EHOSTDOWN) << done.error().message();
  ::kill(silent, SIGKILL);
  ::waitpid(silent, nullptr, 0);
}

}  // namespace
}  // namespace patchbay::attach
