// SPDX-License-Identifier: MIT
//
// A library comes into programs that wait in one way or another, and into none of them by accident.
#include "attach/library_loader.h"

#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <thread>

#include "abi/attach_abi.h"
#include "attach/target_fixture.h"

namespace patchbay::attach {
namespace {

constexpr int kTimeoutMs = 15000;

Status load_into(pid_t pid, const char* path, UniqueFd* socket = nullptr, uint64_t entry = 0) {
  PB_ASSIGN(const TargetLibc libc, TargetLibc::find(pid));
  PB_ASSIGN(const Target target, Target::open(pid));
  PB_ASSIGN(const std::unique_ptr<LibraryLoader> loader,
            LibraryLoader::make(target, libc, kTimeoutMs));
  const Library library = {path, entry, abi::kAttachEntry, abi::kAttachVersion};
  PB_TRY(loader->load(library, kTimeoutMs));
  if (socket) *socket = loader->take_socket();
  return {};
}

void expect_loads(pid_t pid) {
  UniqueFd socket;
  const Status loaded = load_into(pid, kTestAgent, &socket);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_TRUE(socket.valid());
}

// Waits in `wait` until it answers 1; an error is counted.
void wait_often(TargetShared& shared, const std::function<int()>& wait) {
  shared.is_ready = 1;
  for (;;) {
    const int answer = wait();
    if (answer > 0) return;
    if (answer < 0) shared.errors++, shared.eintrs += errno == EINTR;
    if (answer < 0 && errno != EINTR) return;
  }
}

int epoll_of(const TargetShared& shared) {
  const int epoll = ::epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, shared.pipe[0], &event);
  return epoll;
}

void wait_in_epoll(TargetShared& shared) {
  const int epoll = epoll_of(shared);
  wait_often(shared, [&] {
    epoll_event event;
    return ::epoll_wait(epoll, &event, 1, -1);
  });
}

void wait_in_read(TargetShared& shared) {
  wait_often(shared, [&] {
    char byte;
    return int(::read(shared.pipe[0], &byte, 1));
  });
}

void expect_unseen_in(const std::function<void(TargetShared&)>& wait) {
  TargetProgram program(wait);
  const auto fds = program.descriptors(), threads = program.threads();
  expect_loads(program.pid());
  EXPECT_TRUE(soon([&] { return program.threads() == threads; }));
  EXPECT_EQ(program.descriptors(), fds);
  program.expect_good_end();
}

TEST(LibraryLoader, AProgramInEpollWait) { expect_unseen_in(wait_in_epoll); }
TEST(LibraryLoader, AProgramInRead) { expect_unseen_in(wait_in_read); }

TEST(LibraryLoader, AProgramInAccept) {
  expect_unseen_in([](TargetShared& shared) {
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sa_family_t family = AF_UNIX;  // no name: the kernel gives one
    ::bind(listener, reinterpret_cast<const sockaddr*>(&family), sizeof family);
    ::listen(listener, 1);
    std::thread([&] {
      char byte;
      (void)!::read(shared.pipe[0], &byte, 1);
      ::shutdown(listener, SHUT_RDWR);
    }).detach();
    wait_often(shared, [&] {
      const int answer = ::accept(listener, nullptr, nullptr);
      return answer < 0 && shared.ends ? 1 : answer;
    });
  });
}

// Two threads do nothing but take memory and give it back, and one waits.
TEST(LibraryLoader, AProgramThatAllocatesAllTheTime) {
  constexpr int kTimes = 200, kAtOnce = 32;
  TargetProgram program([](TargetShared& shared) {
    std::vector<std::thread> storm;
    for (int i = 0; i < 2; i++)
      storm.emplace_back([&shared, seed = unsigned(i)]() mutable {
        void* kept[kAtOnce] = {};
        while (!shared.ends) {
          void*& place = kept[rand_r(&seed) % kAtOnce];
          std::free(place);
          place = std::malloc(16u << rand_r(&seed) % 12);
          shared.rounds++;
        }
        for (void* place : kept) std::free(place);
      });
    wait_in_epoll(shared);
    for (std::thread& thread : storm) thread.join();
  });
  const auto fds = program.descriptors();
  for (int i = 0; i < kTimes; i++) expect_loads(program.pid());
  EXPECT_EQ(program.descriptors(), fds);
  EXPECT_TRUE(soon([&] { return program.threads().size() == 3; }));
  program.expect_good_end();
}

TEST(LibraryLoader, NothingStaysOfALibraryThatDoesNotLoad) {
  TargetProgram program(wait_in_epoll);
  (void)load_into(program.pid(), kBrokenLibrary);  // libc takes some memory for the first thread
  EXPECT_TRUE(soon([&] { return program.threads().size() == 1; }));
  const auto maps = program.maps(), fds = program.descriptors();
  const Status loaded = load_into(program.pid(), kBrokenLibrary);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message().find("patchbay_nobody_has_this"), std::string::npos)
      << loaded.error().message();
  EXPECT_TRUE(soon([&] { return program.maps() == maps; }));
  EXPECT_EQ(program.descriptors(), fds);
  program.expect_good_end();
}

// The program sees another file system, or none of this name: it is given the file itself.
TEST(LibraryLoader, AProgramThatDoesNotSeeTheFile) {
  TargetProgram program([](TargetShared& shared) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "attach", "tmpfs", 0, nullptr) != 0)
      shared.word = 1;
    wait_in_epoll(shared);
  });
  if (program.shared().word) GTEST_SKIP() << "no mount namespaces here";
  const auto fds = program.descriptors();
  expect_loads(program.pid());
  EXPECT_EQ(program.descriptors(), fds);
  program.expect_good_end();
}

// Where the loader may not have a table of its own, its socket stays in the program's.
TEST(LibraryLoader, AProgramThatMayNotUnshare) {
  TargetProgram program([](TargetShared& shared) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {4, filter};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) shared.word = 1;
    wait_in_epoll(shared);
  });
  ASSERT_EQ(program.shared().word, 0u);
  const auto fds = program.descriptors();
  {
    UniqueFd socket;
    const Status loaded = load_into(program.pid(), kTestAgent, &socket);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(program.descriptors().size(), fds.size() + 1);  // a high one
  }
  EXPECT_TRUE(soon([&] { return program.descriptors() == fds; }));
  program.expect_good_end();
}

// A library that sleeps in the process is called, not loaded.
TEST(LibraryLoader, ALibraryThatIsThereIsCalled) {
  TargetProgram program(wait_in_epoll);
  expect_loads(program.pid());
  const auto is_it = [](const MapLine& line) { return line.name.ends_with(kTestAgent); };
  const auto module = Module::find(program.pid(), read_maps(program.pid()), is_it);
  ASSERT_TRUE(module.ok()) << module.error().message();
  const uint64_t entry = module.value().function(abi::kAttachEntry);
  ASSERT_NE(entry, 0u);
  UniqueFd socket;
  const Status loaded = load_into(program.pid(), "", &socket, entry);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_TRUE(socket.valid());
  program.expect_good_end();
}

// A thread inside dl_iterate_phdr() has the linker's other lock, which dlopen() wants as well.
TEST(LibraryLoader, WhoHoldsTheLinkersLockIsSaid) {
  TargetProgram program([](TargetShared& shared) {
    std::thread holder([&shared] {
      ::dl_iterate_phdr(
          [](dl_phdr_info*, size_t, void* data) {
            auto& told = *static_cast<TargetShared*>(data);
            told.word = uint64_t(::gettid());
            while (!told.ends) ::usleep(1000);
            return 1;
          },
          &shared);
    });
    while (!shared.word) ::usleep(1000);
    wait_in_epoll(shared);
    holder.join();
  });
  const auto fds = program.descriptors();
  const TargetLibc libc = TargetLibc::find(program.pid()).value();
  const Target target = target_of(program.pid());
  {
    auto loader = LibraryLoader::make(target, libc, kTimeoutMs);
    ASSERT_TRUE(loader.ok()) << loader.error().message();
    const Library library = {kTestAgent, 0, abi::kAttachEntry, abi::kAttachVersion};
    const Status loaded = (*loader)->load(library, 500);
    ASSERT_FALSE(loaded.ok());
    const std::string holder = "thread " + std::to_string(program.shared().word);
    EXPECT_NE(loaded.error().message().find(holder + " holds the dynamic linker's lock"),
              std::string::npos)
        << loaded.error().message();
  }
  EXPECT_EQ(program.descriptors(), fds);
  program.expect_good_end();
}

TEST(LibraryLoader, AFileThatIsNotThereIsSaidBeforeAnythingIsDone) {
  TargetProgram program(wait_in_read);
  const Status loaded = load_into(program.pid(), "attach/no_such_library.so");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message().find("No such file"), std::string::npos)
      << loaded.error().message();
  program.expect_good_end();
}

}  // namespace
}  // namespace patchbay::attach
