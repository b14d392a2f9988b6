// SPDX-License-Identifier: MIT
#include "attach/stop_watch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/target_fixture.h"

namespace patchbay::attach {
namespace {

// A child that has a StopWatch until it is told to end.
void work(TargetShared& shared) {
  {
    const StopWatch watch;
    shared.is_ready = 1;
    while (!shared.ends) {
      shared.rounds++;
      ::usleep(200);
    }
  }
  shared.word = 1;
}

TEST(StopWatch, AStoppedToolGoesOnAndIsStoppedAfterwards) {
  for (const int signal : {SIGSTOP, SIGTSTP}) {
    TargetProgram tool(work);
    TargetShared& shared = tool.shared();
    for (int i = 0; i < 3; i++) {
      while (::waitpid(tool.pid(), nullptr, WNOHANG | WCONTINUED) > 0) continue;
      ASSERT_EQ(::kill(tool.pid(), signal), 0);
      // On a busy machine it goes on before we look.
      int status = 0;
      ASSERT_EQ(::waitpid(tool.pid(), &status, WUNTRACED | WCONTINUED), tool.pid());
      ASSERT_TRUE(WIFSTOPPED(status) || WIFCONTINUED(status));
      const int rounds = shared.rounds;
      EXPECT_TRUE(soon([&] { return shared.rounds > rounds; })) << "it stays stopped";
    }
    shared.ends = 1;
    int status = 0;
    ASSERT_EQ(::waitpid(tool.pid(), &status, WUNTRACED), tool.pid());
    EXPECT_TRUE(WIFSTOPPED(status)) << "nobody stops it when its work is done";
    EXPECT_EQ(shared.word, 0u);
    ::kill(tool.pid(), SIGCONT);
    EXPECT_TRUE(soon([&] { return shared.word == 1; }));
  }
}

TEST(StopWatch, WhoIsNotStoppedSeesNothingOfIt) {
  TargetProgram tool([](TargetShared& shared) {
    for (int i = 0; i < 100; i++) const StopWatch watch;
    shared.errors = ::waitpid(-1, nullptr, __WALL | WNOHANG) != -1;  // no child is left
    shared.is_ready = 1;
    ::pause();
  });
  EXPECT_EQ(tool.shared().errors, 0);
}

}  // namespace
}  // namespace patchbay::attach
