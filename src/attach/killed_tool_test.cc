// SPDX-License-Identifier: MIT
//
// The tool is killed at each of the steps of an attach, one after the other. The program goes on
// each time, with its own registers, masks and descriptors, and can be attached to again. The same
// for a detach, with the agent itself: what has been begun is finished.
#include <sys/epoll.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "attach/attach.h"
#include "attach/target_fixture.h"
#include "attach/tracing.h"

// attach_test.cc: it answers 1, with its hook 2.
extern "C" int attach_test_answer();

namespace patchbay::attach {
namespace {

constexpr int kTimeoutMs = 15000;
constexpr int kEndlessSteps = 1 << 20;
// Between the stop of a thread and the moment in which its EINTR is repaired.
constexpr int kUnrepairedSteps = 8;

// One thread waits and counts what epoll_wait() answers; another one computes with what it has in
// registers, among them vectors.
void wait_and_compute(TargetShared& shared) {
  std::thread computes([&shared] {
    double sum = 0;
    while (!shared.ends) {
      for (int i = 1; i < 1000; i++) sum += 1.0 / i;
      const int answer = attach_test_answer();
      shared.errors += sum < 7.48 || sum > 7.49 || answer < 1 || answer > 2;
      sum = 0;
      shared.rounds++;
    }
  });
  const int epoll = ::epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, shared.pipe[0], &event);
  shared.is_ready = 1;
  for (;;) {
    const int answer = ::epoll_wait(epoll, &event, 1, -1);
    if (answer < 0 && errno == EINTR) {
      shared.eintrs++;
      continue;
    }
    char byte = 0;
    if (answer != 1 || ::read(shared.pipe[0], &byte, 1) != 1) shared.errors++;
    if (byte == 'x') break;
    shared.word++;  // it was asked whether it lives
  }
  computes.join();
}

bool lives(const TargetProgram& program) {
  const uint64_t before = program.shared().word;
  const int rounds = program.shared().rounds;
  EXPECT_EQ(::write(program.shared().pipe[1], "?", 1), 1);
  return soon([&] { return program.shared().word > before && program.shared().rounds > rounds; });
}

Arrival with_a_hook() {
  char hook[64];
  std::snprintf(hook, sizeof hook, "%lx 6 6 b801000000c3 b802000000c3",
                reinterpret_cast<unsigned long>(&attach_test_answer));
  return {kTestAgent, {{"HOOK", hook}}, kTimeoutMs};
}

// A process that attaches and is killed at step `steps`, if it comes so far.
pid_t attacher(pid_t target, int steps, std::atomic<int>* used = nullptr) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_steps_to_live(steps);
  const auto arrived = attach(target, with_a_hook());
  if (used) *used = steps - steps_left();
  ::_exit(arrived.ok() ? 0 : 1);
}

std::string mask_of(const TargetProgram& program) {
  std::ifstream status("/proc/" + std::to_string(program.pid()) + "/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("SigBlk:")) {
  }
  return line;
}

int answer_of(const TargetProgram& program) {
  uint8_t code[2] = {};
  const auto address = reinterpret_cast<uint64_t>(&attach_test_answer);
  EXPECT_TRUE(read_memory(program.pid(), address, code, sizeof code).ok());
  return code[1];
}

int status_of(pid_t pid) {
  int status = -1;
  EXPECT_TRUE(soon([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
  return status;
}

int steps_of_an_attach() {
  TargetProgram program(wait_and_compute);
  auto& used = *static_cast<std::atomic<int>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  EXPECT_EQ(status_of(attacher(program.pid(), kEndlessSteps, &used)), 0);
  const int steps = used;
  ::munmap(&used, 4096);
  program.expect_good_end();
  return steps;
}

TEST(KilledTool, AtEachStepTheProgramGoesOnAndTheNextAttachWorks) {
  const int steps = steps_of_an_attach();
  ASSERT_GT(steps, 20);
  int eintrs = 0;
  constexpr int kAtOnce = 24;
  for (int first = 0; first < steps; first += kAtOnce) {
    std::vector<std::unique_ptr<TargetProgram>> programs;
    std::vector<std::vector<std::string>> fds;
    std::vector<std::string> masks;
    std::vector<pid_t> attachers;
    for (int step = first; step < std::min(first + kAtOnce, steps); step++) {
      programs.push_back(std::make_unique<TargetProgram>(wait_and_compute));
      fds.push_back(programs.back()->descriptors());
      masks.push_back(mask_of(*programs.back()));
      attachers.push_back(attacher(programs.back()->pid(), step));
    }
    for (size_t i = 0; i < programs.size(); i++) {
      SCOPED_TRACE("step " + std::to_string(first + int(i)));
      TargetProgram& program = *programs[i];
      const int status = status_of(attachers[i]);
      EXPECT_TRUE(WIFSIGNALED(status) || status == 0) << status;
      EXPECT_TRUE(lives(program));
      EXPECT_EQ(mask_of(program), masks[i]);
      // One that came to its end has left its hook, and an agent that waits for more.
      const bool is_in = answer_of(program) == 2;
      const auto attach_again = [&] {
        return attach(program.pid(), is_in ? Arrival{kTestAgent, {}, kTimeoutMs} : with_a_hook());
      };
      auto again = attach_again();
      // On a busy machine an attach gives up before it holds the threads for too long.
      for (int i = 0; i < 50 && !again.ok() && again.error().errno_value == ETIME; i++)
        again = attach_again();
      EXPECT_TRUE(again.ok()) << again.error().message();
      EXPECT_TRUE(lives(program));
      EXPECT_TRUE(soon([&] { return program.descriptors() == fds[i]; }));
      eintrs += program.shared().eintrs;
      program.expect_good_end();
    }
  }
  EXPECT_LE(eintrs, 2 * kUnrepairedSteps);
}

// --- a detach

constexpr char kAgent[] = "../lib/libpatchbay.so";

// A runtime directory, and PATCHBAY_DIR for it.
class RuntimeDirectory {
 public:
  RuntimeDirectory() {
    EXPECT_TRUE(::mkdtemp(path_));
    ::setenv("PATCHBAY_DIR", path_, 1);
  }
  ~RuntimeDirectory() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
    ::unsetenv("PATCHBAY_DIR");
  }
  Arrival arrival() const { return {kAgent, {{"PATCHBAY_DIR", path_}}, kTimeoutMs}; }

 private:
  char path_[32] = "/tmp/killed_tool_test.XXXXXX";
};

// Its first thread has a signal blocked that the agent needs.
void block_and_wait(TargetShared& shared) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGFPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  wait_and_compute(shared);
}

pid_t detacher(pid_t target, int steps, std::atomic<int>* used = nullptr) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_steps_to_live(steps);
  const Status done = detach(target, kTimeoutMs);
  if (used) *used = steps - steps_left();
  ::_exit(done.ok() ? 0 : 1);
}

int steps_of_a_detach(const RuntimeDirectory& runtime) {
  TargetProgram program(block_and_wait);
  const auto arrived = attach(program.pid(), runtime.arrival());
  EXPECT_TRUE(arrived.ok()) << arrived.error().message();
  auto& used = *static_cast<std::atomic<int>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  EXPECT_EQ(status_of(detacher(program.pid(), kEndlessSteps, &used)), 0);
  const int steps = used;
  ::munmap(&used, 4096);
  program.expect_good_end();
  return steps;
}

TEST(KilledTool, AtEachStepOfADetachTheAgentFinishesIt) {
  const RuntimeDirectory runtime;
  const int steps = steps_of_a_detach(runtime);
  ASSERT_GT(steps, 30);
  int eintrs = 0;
  for (int step = 0; step < steps; step++) {
    SCOPED_TRACE("step " + std::to_string(step));
    TargetProgram program(block_and_wait);
    const std::string mask = mask_of(program);
    const auto fds = program.descriptors(), threads = program.threads();
    const auto arrived = attach(program.pid(), runtime.arrival());
    ASSERT_TRUE(arrived.ok()) << arrived.error().message();
    EXPECT_TRUE(has_hooks(program.pid()));
    const int status = status_of(detacher(program.pid(), step));
    EXPECT_TRUE(WIFSIGNALED(status) || status == 0) << status;
    EXPECT_TRUE(lives(program));
    // It has gone, or it serves as if nobody had come. While it is going, it is there still.
    EXPECT_TRUE(soon([&] {
      const auto again = attach(program.pid(), runtime.arrival());
      const int error = again.ok() ? 0 : again.error().errno_value;
      EXPECT_TRUE(error == 0 || error == EALREADY || error == EINPROGRESS)
          << again.error().message();
      return detach(program.pid(), kTimeoutMs).ok();
    }));
    EXPECT_TRUE(lives(program));
    EXPECT_FALSE(has_hooks(program.pid()));
    EXPECT_EQ(mask_of(program), mask);
    EXPECT_TRUE(soon([&] { return program.threads() == threads; }));
    EXPECT_EQ(program.descriptors(), fds);
    eintrs += program.shared().eintrs;
    program.expect_good_end();
  }
  EXPECT_LE(eintrs, 2 * kUnrepairedSteps);
}

}  // namespace
}  // namespace patchbay::attach
