// SPDX-License-Identifier: MIT
//
// A client of agents that want to harm it: what they cost is bounded, and who they are is checked.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "../../tests/hostile/hostile_agent.h"
#include "base/monotonic_clock.h"
#include "serve/client.h"
#include "serve/directory.h"
#include "serve/peer.h"

namespace patchbay::serve {
namespace {

using hostile::Process;

class ClientBounds : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_ = ::testing::TempDir() + "bounds.XXXXXX";
    ASSERT_NE(::mkdtemp(runtime_.data()), nullptr);
  }
  void TearDown() override {
    set_end_check(nullptr);
    std::error_code none;
    std::filesystem::remove_all(runtime_, none);
  }
  std::unique_ptr<Client> connect(const Process& process) {
    auto client = Client::connect_directory(process.directory());
    EXPECT_TRUE(client.ok()) << client.error().message();
    return client.ok() ? std::move(*client) : nullptr;
  }
  std::string runtime_;
};

bool names(const Error& error, const Process& process) {
  return error.message().find("rocess " + std::to_string(process.pid())) != std::string::npos;
}

TEST_F(ClientBounds, WhatHasNoEndIsGivenUp) {
  for (const char* manner : {"flood", "lines"}) {
    const Process process(runtime_, 1, manner);
    auto client = connect(process);
    ASSERT_TRUE(client);
    const auto text = client->read_all("trace");
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().errno_value, EFBIG);
    EXPECT_TRUE(names(text.error(), process)) << text.error().message();
    const auto list = client->list("events");
    ASSERT_FALSE(list.ok());
    EXPECT_EQ(list.error().errno_value, EFBIG);
    // It may be honest, and have a long file: it is talked with.
    EXPECT_TRUE(client->write_all("tracing_on", "0\n", true).ok());
  }
}

TEST_F(ClientBounds, ACallersTimeIsKept) {
  for (const char* manner : {"mute", "dribble", "spin"}) {
    const Process process(runtime_, 1, manner);
    auto client = connect(process);
    ASSERT_TRUE(client);
    client->until_ms(monotonic_ms() + 30);
    const auto text = client->read_all("trace");
    ASSERT_FALSE(text.ok()) << manner;
    EXPECT_TRUE(is_silent(text.error())) << text.error().message();
    EXPECT_TRUE(names(text.error(), process)) << text.error().message();
  }
}

// Silent, and not silent but without an end.
TEST_F(ClientBounds, AToolThatIsToldToEndDoesNotWait) {
  static std::atomic<bool> ends{false};
  for (const char* manner : {"mute", "dribble"}) {
    ends = false;
    set_end_check([] { return ends.load(); });
    const Process process(runtime_, 1, manner);
    auto client = connect(process);
    ASSERT_TRUE(client);
    ends = true;
    const auto text = client->read_all("trace");
    ASSERT_FALSE(text.ok()) << manner;
    EXPECT_EQ(text.error().errno_value, manner[0] == 'm' ? ETIMEDOUT : EINTR)
        << text.error().message();
    // Nothing is asked after that: a command's end has many such calls.
    EXPECT_EQ(client->write_all("tracing_on", "0\n", true).error().message(),
              text.error().message());
  }
}

// What a command takes back at its end is taken back.
TEST_F(ClientBounds, AToolThatIsToldToEndStillTalks) {
  set_end_check([] { return true; });
  const Process process(runtime_, 1, "right");
  auto client = connect(process);
  ASSERT_TRUE(client);
  for (int i = 0; i < 100; i++) ASSERT_TRUE(client->write_all("tracing_on", "0\n", true).ok()) << i;
  EXPECT_TRUE(client->read_all("tracing_on").ok());
}

// --- who answers

TEST_F(ClientBounds, AnotherProcessIsNotBelieved) {
  const Process process(runtime_, 1, "right");
  const std::string others = runtime_ + "/" + std::to_string(::getppid());
  std::filesystem::rename(process.directory(), others);
  const auto client = Client::connect_directory(others);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().errno_value, EPERM) << client.error().message();
}

// We listen, as a process does that has an agent; a child of ours answers.
TEST_F(ClientBounds, AChildIsNotBelieved) {
  const std::string directory = runtime_ + "/" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  hostile::Agent agent(1, "right");
  ASSERT_TRUE(agent.listen(directory));
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    agent.run(nullptr);
  }
  const auto client = Client::connect_directory(directory);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().errno_value, EPERM) << client.error().message();
  EXPECT_NE(client.error().message().find(std::to_string(child)), std::string::npos);
}

TEST(Peer, TheNumberOfADirectory) {
  const int own = ::getpid();
  EXPECT_EQ(pid_of_directory("/run/patchbay/12"), 12);
  EXPECT_EQ(pid_of_directory("/run/patchbay/12.3"), 12);
  EXPECT_EQ(pid_of_directory("/run/patchbay/x"), 0);
  EXPECT_TRUE(is_process_of_directory(own, own));
  EXPECT_TRUE(is_process_itself(own, own));
  EXPECT_FALSE(is_process_of_directory(own, ::getppid()));
  EXPECT_FALSE(is_process_itself(own, ::getppid()));
  EXPECT_FALSE(is_process_itself(0, own));           // one that we do not see is not one that we do
  EXPECT_TRUE(is_process_of_directory(0, 1 << 30));  // no number of a process
}

TEST(Peer, MapsThatLeaveIdsOut) {
  const struct {
    const char* map;
    bool leaves_out;
  } kCases[] = {
      {"         0          0 4294967295\n", false},  // the host
      {"         0       4711          1\n", true},   // unshare -Ur
      {"0 1000 1\n1 100000 65536\n", true},           // podman of a user
      {"0 0 2147483648\n2147483648 2147483648 2147483647\n", false},
      {"", false},  // it cannot be read, or nobody is mapped: everybody has the owner's number
      {"a b c\n", true},
  };
  for (const auto& one : kCases) EXPECT_EQ(leaves_ids_out(one.map), one.leaves_out) << one.map;
}

// --- a thousand lies

void talk(Client& client, uint64_t seed) {
  const auto sometimes = [&seed] { return (seed = seed * 6364136223846793005 + 1) >> 63 != 0; };
  if (sometimes()) (void)client.list("events");
  if (sometimes()) (void)client.read_all("set_event");
  if (sometimes()) (void)client.write_all("set_event", "evil:hit\n", true);
  if (sometimes()) (void)client.write_all("set_event", std::string(300'000, '\n'), false);
  if (sometimes()) (void)client.stat("trace");
  if (sometimes()) (void)client.open_buffer();
  if (sometimes()) (void)client.make_directory("instances/x");
  if (Result<uint32_t> handle = client.open("trace_pipe", O_RDWR); handle.ok()) {
    (void)client.read(*handle, 4096);
    (void)client.write(*handle, "text");
    (void)client.poll(*handle, true);
    (void)client.ioctl(*handle, 1);
    (void)client.flush(*handle);
    int looks = 3;
    (void)client.read_waiting(*handle, 100, [&] { return --looks == 0; });
    (void)client.close(*handle);
  }
  if (sometimes()) (void)client.detach();
}

size_t most_memory_kb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return size_t(usage.ru_maxrss);
}

size_t nr_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return size_t(std::distance(begin(all), end(all)));
}

TEST_F(ClientBounds, ManyLies) {
  const char* const wanted = std::getenv("PATCHBAY_HOSTILE_ROUNDS");
  const uint64_t rounds = wanted ? std::strtoull(wanted, nullptr, 10) : 150;
  const std::string directory = runtime_ + "/" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  const size_t before_kb = most_memory_kb(), descriptors = nr_descriptors();
  uint64_t talks = 0;
  for (uint64_t seed = 0; seed < rounds; seed++) {
    hostile::Agent agent(seed, "mixed");
    ::unlink((directory + "/ctl.sock").c_str());
    ASSERT_TRUE(agent.listen(directory));
    std::atomic<bool> stop{false};
    std::thread thread([&] { agent.run(&stop); });
    auto client = Client::connect_directory(directory, monotonic_ms() + 2000);
    if (client.ok()) {
      talks++;
      (*client)->until_ms(monotonic_ms() + 20);
      talk(**client, seed);
    }
    stop = true;
    thread.join();
  }
  EXPECT_GT(talks, rounds * 9 / 10);
  EXPECT_EQ(nr_descriptors(), descriptors);
  // The address sanitizer keeps for a while what was freed: 256 MB by itself.
#ifdef __SANITIZE_ADDRESS__
  constexpr size_t kMostKb = 512u * 1024;
#else
  constexpr size_t kMostKb = 64u * 1024;
#endif
  EXPECT_LT(most_memory_kb() - before_kb, kMostKb);
}

}  // namespace
}  // namespace patchbay::serve
