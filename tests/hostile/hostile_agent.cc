// SPDX-License-Identifier: MIT
//
// hostile_agent SEED MANNER [BUFFER]: an agent that lies, for tests/scripts/hostile_agent.sh. It
// listens at $PATCHBAY_DIR/PID/ctl.sock, says "ready", and goes on until it is killed. BUFFER is
// the file that it passes as its buffer. "child" in front of SEED: a forked child answers, and the
// process itself waits.
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "hostile_agent.h"

int main(int argc, char** argv) {
  const char* const runtime = std::getenv("PATCHBAY_DIR");
  const bool is_child = argc > 1 && std::string_view(argv[1]) == "child";
  if (is_child) argc--, argv++;
  if (argc < 3 || !runtime) return 2;
  hostile::Agent agent(std::strtoull(argv[1], nullptr, 10), argv[2]);
  if (argc > 3) agent.buffer_is(argv[3]);
  const std::string directory = std::string(runtime) + "/" + std::to_string(::getpid());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return 1;
  (void)::unlink((directory + "/ctl.sock").c_str());  // of an earlier one with this number
  const auto tell = [] { return std::puts("ready") >= 0 && std::fflush(stdout) == 0; };
  ::prctl(PR_SET_NAME, "patchbay");
  if (is_child) {
    // The parent listens, so the kernel names it as the other end; its child answers.
    if (!agent.listen(directory)) return 1;
    const pid_t parent = ::getpid();
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) return 1;
      agent.run(nullptr);
    }
    if (!tell()) return 1;
    for (;;) ::pause();
  }
  if (!agent.listen(directory) || !tell()) return 1;
  agent.run(nullptr);
}
