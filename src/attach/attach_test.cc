// SPDX-License-Identifier: MIT
//
// An attach from its first look at the process to the agent's last word, and a detach, with an
// agent that the tests have made (tests/attach/test_agent.cc).
#include "attach/attach.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "attach/exchange.h"
#include "attach/library_loader.h"
#include "attach/target_fixture.h"

// int answer(): a function that the programs call all the time.
//   b8 01 00 00 00   mov $1, %eax
//   c3               ret
extern "C" int attach_test_answer();
// It runs forever between these two, while the word at %rdi is 0.
extern "C" void attach_test_spin(const std::atomic<int>* ends);
extern "C" const char attach_test_spin_end[];
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl attach_test_answer, attach_test_spin, attach_test_spin_end\n"
    "attach_test_answer: mov $1, %eax\n"
    "ret\n"
    ".p2align 4\n"
    "attach_test_spin: cmpl $0, (%rdi)\n"
    "je attach_test_spin\n"
    "ret\n"
    "attach_test_spin_end: nop\n");

namespace patchbay::attach {
namespace {

constexpr int kTimeoutMs = 15000;
constexpr char kOldBytes[] = "b801000000c3", kNewBytes[] = "b802000000c3";

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%lx", value);
  return text;
}

uint64_t place_of(const void* code) { return reinterpret_cast<uint64_t>(code); }

std::string hook_setting(const char* old_bytes = kOldBytes) {
  return hex(place_of(reinterpret_cast<const void*>(&attach_test_answer))) + " 6 6 " + old_bytes +
         " " + kNewBytes;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

Result<Arrived> attach_with(pid_t pid, const Settings& settings, int timeout_ms = kTimeoutMs) {
  return attach(pid, {kTestAgent, settings, timeout_ms});
}

// An attach whose socket is kept, so that a detach can be asked for on it.
Result<UniqueFd> attach_by_hand(pid_t pid, const Settings& settings) {
  PB_ASSIGN(const TargetLibc libc, TargetLibc::find(pid));
  PB_ASSIGN(const Target target, Target::open(pid));
  PB_ASSIGN(const std::unique_ptr<LibraryLoader> loader,
            LibraryLoader::make(target, libc, kTimeoutMs));
  PB_TRY(loader->load({kTestAgent, 0, abi::kAttachEntry, abi::kAttachVersion}, kTimeoutMs));
  UniqueFd socket = loader->take_socket();
  std::string text;
  for (const auto& [name, value] : settings) text += name + "=" + value + '\0';
  PB_TRY(send_message(socket.get(), abi::AttachMessage::kSettings, text));
  PB_TRY(run_exchange(socket.get(), target, kTimeoutMs));
  return socket;
}

Status detach_by_hand(int socket, pid_t pid) {
  if (::send(socket, "", 1, 0) != 1) return sys_error("ask for a detach", errno);
  PB_ASSIGN(const Target target, Target::open(pid));
  return detach_over(socket, target, kTimeoutMs);
}

// `threads` of them call the function all the time, some with signals blocked; the first one waits.
void call_it(TargetShared& shared, int threads) {
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; i++)
    callers.emplace_back([&shared, i] {
      sigset_t set;
      ::sigemptyset(&set);
      ::sigaddset(&set, SIGUSR1);
      if (i % 2) ::sigaddset(&set, SIGSEGV);
      ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
      shared.rounds++;
      while (!shared.ends) {
        const int answer = attach_test_answer();
        if (answer != 1 && answer != 2) shared.errors++;
        shared.word = uint64_t(answer);
        ::usleep(200);
      }
    });
  while (shared.rounds < threads) ::usleep(1000);
  const int epoll = ::epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, shared.pipe[0], &event);
  shared.is_ready = 1;
  while (::epoll_wait(epoll, &event, 1, -1) != 1) shared.errors++;
  for (std::thread& caller : callers) caller.join();
}

std::vector<std::string> masks_of(const TargetProgram& program) {
  std::vector<std::string> masks;
  for (const std::string& thread : program.threads()) {
    std::ifstream status("/proc/" + std::to_string(program.pid()) + "/task/" + thread + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) masks.push_back(line);
  }
  return masks;
}

size_t count_with(const std::vector<std::string>& masks, int signal) {
  size_t count = 0;
  for (const std::string& mask : masks)
    count += std::stoull(mask.substr(8), nullptr, 16) >> (signal - 1) & 1;
  return count;
}

bool answers(const TargetProgram& program, uint64_t answer) {
  program.shared().word = 0;
  return soon([&] { return program.shared().word == answer; });
}

TEST(Attach, HooksAndMasksComeAndGo) {
  constexpr int kThreads = 15;
  TargetProgram program([](TargetShared& shared) { call_it(shared, kThreads); });
  const auto masks = masks_of(program), fds = program.descriptors(), threads = program.threads();
  ASSERT_EQ(count_with(masks, SIGSEGV), size_t(kThreads / 2));
  const std::string signals = hex(1 << (SIGSEGV - 1)), others = hex(1 << (SIGUSR1 - 1));
  for (int i = 0; i < 3; i++) {
    auto socket = attach_by_hand(program.pid(),
                                 {{"HOOK", hook_setting()}, {"SIGNALS", signals + " " + others}});
    ASSERT_TRUE(socket.ok()) << socket.error().message();
    EXPECT_TRUE(answers(program, 2));
    EXPECT_EQ(count_with(masks_of(program), SIGSEGV), 1u);  // the agent's own thread
    EXPECT_GE(count_with(masks_of(program), SIGUSR1), size_t(kThreads));
    EXPECT_EQ(program.descriptors(), fds);
    const Status detached = detach_by_hand(socket->get(), program.pid());
    ASSERT_TRUE(detached.ok()) << detached.error().message();
    EXPECT_TRUE(answers(program, 1));
    EXPECT_TRUE(soon([&] { return program.threads() == threads; }));
    EXPECT_EQ(masks_of(program), masks);
    EXPECT_EQ(program.descriptors(), fds);
  }
  program.expect_good_end();
}

TEST(Attach, SaysWhereTheAgentServesAndHowLongThreadsStood) {
  TargetProgram program([](TargetShared& shared) { call_it(shared, 3); });
  const auto arrived = attach_with(program.pid(), {{"HOOK", hook_setting()}});
  ASSERT_TRUE(arrived.ok()) << arrived.error().message();
  EXPECT_EQ(arrived.value().directory, "/the/directory");
  EXPECT_GT(arrived.value().one_stopped_ns, 0u);
  EXPECT_GT(arrived.value().all_stopped_ns, 0u);
  EXPECT_TRUE(answers(program, 2));
  program.expect_good_end();
}

void expect_refused_unchanged(const Settings& settings, const std::string& sentence,
                              int timeout_ms = kTimeoutMs) {
  TargetProgram program([](TargetShared& shared) {
    std::thread spinner([&shared] {
      shared.other_word = 1;
      attach_test_spin(&shared.ends);
    });
    while (!shared.other_word) ::usleep(1000);
    call_it(shared, 3);
    spinner.join();
  });
  const auto fds = program.descriptors(), masks = masks_of(program);
  const auto arrived = attach_with(program.pid(), settings, timeout_ms);
  ASSERT_FALSE(arrived.ok());
  EXPECT_NE(arrived.error().message().find(sentence), std::string::npos)
      << arrived.error().message();
  EXPECT_TRUE(answers(program, 1));
  EXPECT_EQ(program.descriptors(), fds);
  EXPECT_TRUE(soon([&] { return masks_of(program) == masks; }));
  program.expect_good_end();
}

TEST(Attach, AnAgentThatFailsIsQuoted) {
  expect_refused_unchanged({{"FAIL", "no room on this device"}}, "no room on this device");
}

TEST(Attach, HooksAreTakenBackWhenTheAgentDoesNotAnswer) {
  expect_refused_unchanged({{"HOOK", hook_setting()}, {"SILENT", "1"}}, "does not answer");
}

TEST(Attach, ChangedCodeIsNotHooked) {
  expect_refused_unchanged({{"HOOK", hook_setting("b803000000c3")}}, "somebody else has changed");
}

TEST(Attach, NoHookWhereAThreadStands) {
  const uint64_t start = place_of(reinterpret_cast<const void*>(&attach_test_spin));
  const uint64_t end = place_of(attach_test_spin_end);
  expect_refused_unchanged({{"HOOK", hook_setting()}, {"RANGE", hex(start) + " " + hex(end)}},
                           "stands in code that is to be changed", 500);
}

TEST(Attach, AStoppedProcessIsRefused) {
  TargetProgram program([](TargetShared& shared) { call_it(shared, 1); });
  ::kill(program.pid(), SIGSTOP);
  ::waitpid(program.pid(), nullptr, WUNTRACED);
  const auto arrived = attach_with(program.pid(), {});
  ASSERT_FALSE(arrived.ok());
  EXPECT_NE(arrived.error().message().find("kill -CONT"), std::string::npos)
      << arrived.error().message();
  ::kill(program.pid(), SIGCONT);
  EXPECT_TRUE(answers(program, 1));  // the stop itself has answered epoll_wait() with EINTR
}

// After its hooks were written. It takes them back when it goes on, as nobody waits for it.
TEST(Attach, AProcessThatIsStoppedBeforeTheAgentServesIsNotWaitedFor) {
  TargetProgram program([](TargetShared& shared) { call_it(shared, 1); });
  const auto arrived = attach_with(program.pid(), {{"HOOK", hook_setting()}, {"STOP", "1"}});
  ASSERT_FALSE(arrived.ok());
  EXPECT_NE(arrived.error().message().find("is stopped"), std::string::npos)
      << arrived.error().message();
  ::kill(program.pid(), SIGCONT);
  EXPECT_TRUE(answers(program, 1));
}

TEST(Attach, ThePresenceOfNobodyAndOfNothing) {
  EXPECT_EQ(presence_of(0x3fffff, kTestAgent).error().errno_value, ESRCH);
  TargetProgram program([](TargetShared& shared) { call_it(shared, 1); });
  const auto presence = presence_of(program.pid(), kTestAgent);
  ASSERT_TRUE(presence.ok());
  EXPECT_EQ(presence.value(), Presence::kNone);
  program.expect_good_end();
}

}  // namespace
}  // namespace patchbay::attach
