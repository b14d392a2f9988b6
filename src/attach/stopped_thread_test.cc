// SPDX-License-Identifier: MIT
//
// A child process waits in one way or another while its thread is stopped again and again and makes
// system calls for us. What it sees must not differ. docs/attach.md rests on what these tests say
// of the kernel.
#include "attach/stopped_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "attach/target_fixture.h"
#include "base/monotonic_clock.h"

namespace patchbay::attach {
namespace {

constexpr int kStops = 20;

// Both processes share it.
struct Shared {
  int pipe[2];
  int result, error;
  int64_t took_ms;
  std::atomic<int> ends;
};

// Where an instruction `syscall` is: the child is our fork, so its libc is where ours is.
uint64_t syscall_instruction() {
  const auto* code = reinterpret_cast<const uint8_t*>(&::getpid);
  while (code[0] != 0x0f || code[1] != 0x05) code++;
  return reinterpret_cast<uint64_t>(code);
}

class Child {
 public:
  explicit Child(const std::function<int(Shared*)>& wait) {
    shared_ = static_cast<Shared*>(
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(::pipe(shared_->pipe), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int64_t began = monotonic_ms();
      errno = 0;
      shared_->result = wait(shared_);
      shared_->error = errno;
      shared_->took_ms = monotonic_ms() - began;
      ::_exit(0);
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(shared_->pipe[0]);
    ::close(shared_->pipe[1]);
    ::munmap(shared_, sizeof *shared_);
  }
  void wait_until_it_waits() {
    for (int i = 0; i < 2000; i++) {
      if (state() == 'S') return;
      ::usleep(1000);
    }
    FAIL() << "the child does not wait";
  }
  void tell_to_end() { shared_->ends = 1; }
  void let_it_end() { EXPECT_EQ(::write(shared_->pipe[1], "x", 1), 1); }
  int status() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = ::fork();  // the destructor has something to end
    if (pid_ == 0) ::pause();
    return status;
  }
  pid_t pid() const { return pid_; }
  const Shared& shared() const { return *shared_; }

 private:
  char state() const {
    char text[512] = {};
    const int fd = ::open(("/proc/" + std::to_string(pid_) + "/stat").c_str(), O_RDONLY);
    const ssize_t size = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    const char* name_end = size > 0 ? std::strrchr(text, ')') : nullptr;
    return name_end ? name_end[2] : '?';
  }
  Shared* shared_;
  pid_t pid_ = 0;
};

// Stops the child, lets it make a system call, lets it go on; in turns without the call.
void stop_often(const Child& child, int* repaired = nullptr) {
  for (int i = 0; i < kStops; i++) {
    const Target target = target_of(child.pid());
    auto thread = StoppedThread::stop(target, child.pid(), 1000);
    ASSERT_TRUE(thread.ok()) << thread.error().message();
    if (repaired) *repaired += (*thread)->repaired();
    if (i % 2) {
      auto answer = (*thread)->system_call(syscall_instruction(), SYS_getpid);
      ASSERT_TRUE(answer.ok()) << answer.error().message();
      EXPECT_EQ(*answer, child.pid());
    }
    const Status released = (*thread)->release();
    ASSERT_TRUE(released.ok()) << released.error().message();
    ::usleep(2000);
  }
}

void expect_unseen(Child& child, int result) {
  EXPECT_EQ(child.status(), 0);
  EXPECT_EQ(child.shared().result, result);
  EXPECT_EQ(child.shared().error, 0) << std::strerror(child.shared().error);
}

int read_one(Shared* shared) {
  char byte;
  return int(::read(shared->pipe[0], &byte, 1));
}

int poll_one(Shared* shared, int timeout_ms) {
  pollfd polled = {shared->pipe[0], POLLIN, 0};
  return ::poll(&polled, 1, timeout_ms);
}

int epoll_one(Shared* shared, int timeout_ms) {
  const int epoll = ::epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, shared->pipe[0], &event);
  return ::epoll_wait(epoll, &event, 1, timeout_ms);
}

TEST(StoppedThread, AReadOfAPipeGoesOn) {
  Child child(read_one);
  child.wait_until_it_waits();
  stop_often(child);
  child.let_it_end();
  expect_unseen(child, 1);
}

TEST(StoppedThread, APollGoesOn) {
  Child child([](Shared* shared) { return poll_one(shared, -1); });
  child.wait_until_it_waits();
  stop_often(child);
  child.let_it_end();
  expect_unseen(child, 1);
}

// The rest of the time is kept by the kernel (ERESTART_RESTARTBLOCK), also across calls of ours.
TEST(StoppedThread, APollWithATimeoutKeepsItsTime) {
  Child child([](Shared* shared) { return poll_one(shared, 400); });
  child.wait_until_it_waits();
  stop_often(child);
  expect_unseen(child, 0);
  EXPECT_GE(child.shared().took_ms, 399);
  EXPECT_LT(child.shared().took_ms, 1000);
}

TEST(StoppedThread, ASelectAndAPselectGoOn) {
  Child child([](Shared* shared) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(shared->pipe[0], &set);
    timeval timeout = {20, 0};
    sigset_t none;
    ::sigemptyset(&none);
    if (int first = ::select(shared->pipe[0] + 1, &set, nullptr, nullptr, &timeout); first != 1)
      return first;
    return ::pselect(shared->pipe[0] + 1, &set, nullptr, nullptr, nullptr, &none);
  });
  child.wait_until_it_waits();
  stop_often(child);
  child.let_it_end();
  expect_unseen(child, 1);
}

// Fact: a mere stop answers EINTR here, and nothing restarts it but us.
TEST(StoppedThread, AnEpollWaitGoesOnAndIsRepaired) {
  Child child([](Shared* shared) { return epoll_one(shared, -1); });
  child.wait_until_it_waits();
  int repaired = 0;
  stop_often(child, &repaired);
  EXPECT_GT(repaired, kStops / 2);  // a child that has not run since is not in a wait
  child.let_it_end();
  expect_unseen(child, 1);
}

TEST(StoppedThread, WithoutTheRepairEpollWaitFails) {
  Child child([](Shared* shared) { return epoll_one(shared, -1); });
  child.wait_until_it_waits();
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, child.pid(), 0, 0), 0);
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, child.pid(), 0, 0), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, __WALL), child.pid());
  EXPECT_EQ(status >> 16, PTRACE_EVENT_STOP);
  ASSERT_EQ(::ptrace(PTRACE_DETACH, child.pid(), 0, 0), 0);
  EXPECT_EQ(child.status(), 0);
  EXPECT_EQ(child.shared().result, -1);
  EXPECT_EQ(child.shared().error, EINTR);
}

// Who joins a tracer is woken before the kernel lets its tracees go.
TEST(StoppedThread, AThreadOfOursThatIsEndingIsWaitedFor) {
  Child child([](Shared* shared) { return epoll_one(shared, -1); });
  child.wait_until_it_waits();
  std::atomic<bool> traces{false};
  std::thread earlier([&] {
    EXPECT_EQ(::ptrace(PTRACE_SEIZE, child.pid(), 0, 0), 0);
    traces = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  while (!traces) std::this_thread::yield();
  const Target target = target_of(child.pid());
  EXPECT_TRUE(StoppedThread::stop(target, child.pid(), 1000).ok());
  earlier.join();
  child.let_it_end();
  expect_unseen(child, 1);
}

TEST(StoppedThread, ASleepKeepsItsTime) {
  Child child([](Shared*) {
    const timespec nap = {0, 400000000};
    return ::nanosleep(&nap, nullptr);
  });
  child.wait_until_it_waits();
  stop_often(child);
  expect_unseen(child, 0);
  EXPECT_GE(child.shared().took_ms, 399);
  EXPECT_LT(child.shared().took_ms, 1000);
}

TEST(StoppedThread, AnAbsoluteSleepKeepsItsTime) {
  Child child([](Shared*) {
    timespec until = {};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 400000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  });
  child.wait_until_it_waits();
  stop_often(child);
  expect_unseen(child, 0);
  EXPECT_LT(child.shared().took_ms, 1000);
}

TEST(StoppedThread, AConditionWithATimeoutGoesOn) {
  Child child([](Shared*) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    timespec until = {};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    ::pthread_mutex_lock(&mutex);
    return ::pthread_cond_timedwait(&condition, &mutex, &until);
  });
  child.wait_until_it_waits();
  stop_often(child);
  expect_unseen(child, ETIMEDOUT);
}

TEST(StoppedThread, ASemaphoreGoesOn) {
  Child child([](Shared* shared) {
    sem_t semaphore;
    ::sem_init(&semaphore, 0, 0);
    std::thread post([&] { read_one(shared), ::sem_post(&semaphore); });
    const int result = ::sem_wait(&semaphore);
    post.join();
    return result;
  });
  child.wait_until_it_waits();
  ::usleep(20000);
  stop_often(child);
  child.let_it_end();
  expect_unseen(child, 0);
}

TEST(StoppedThread, ASigtimedwaitGoesOnAndTakesItsSignal) {
  Child child([](Shared*) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    const timespec timeout = {20, 0};
    return ::sigtimedwait(&set, nullptr, &timeout);
  });
  child.wait_until_it_waits();
  ::usleep(20000);
  int repaired = 0;
  stop_often(child, &repaired);
  EXPECT_GT(repaired, kStops / 2);  // a child that has not run since is not in a wait
  ::kill(child.pid(), SIGUSR1);
  expect_unseen(child, SIGUSR1);
}

TEST(StoppedThread, ASemopGoesOn) {
  Child child([](Shared*) {
    const int set = ::semget(IPC_PRIVATE, 1, 0600);
    sembuf down = {0, -1, 0};
    const timespec timeout = {0, 300000000};
    const int result = ::semtimedop(set, &down, 1, &timeout);
    const int error = errno;
    ::semctl(set, 0, IPC_RMID);
    errno = result < 0 && error == EAGAIN ? 0 : error;
    return result;
  });
  child.wait_until_it_waits();
  int repaired = 0;
  for (int i = 0; i < 5; i++) {
    const Target target = target_of(child.pid());
    auto thread = StoppedThread::stop(target, child.pid(), 1000);
    ASSERT_TRUE(thread.ok()) << thread.error().message();
    repaired += (*thread)->repaired();
  }
  EXPECT_GT(repaired, 0);
  expect_unseen(child, -1);
}

TEST(StoppedThread, ARecvWithATimeoutGoesOn) {
  Child child([](Shared*) {
    int pair[2];
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    const timeval timeout = {0, 300000};
    ::setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    char byte;
    const auto result = int(::recv(pair[0], &byte, 1, 0));
    errno = errno == EAGAIN ? 0 : errno;
    return result;
  });
  child.wait_until_it_waits();
  ::usleep(10000);
  int repaired = 0;
  for (int i = 0; i < 5; i++) {
    const Target target = target_of(child.pid());
    auto thread = StoppedThread::stop(target, child.pid(), 1000);
    ASSERT_TRUE(thread.ok()) << thread.error().message();
    repaired += (*thread)->repaired();
  }
  EXPECT_GT(repaired, 0);
  expect_unseen(child, -1);
}

TEST(StoppedThread, AWaitForAChildGoesOn) {
  Child child([](Shared* shared) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(read_one(shared));
    int status = 0;
    return ::waitpid(grandchild, &status, 0) == grandchild ? WEXITSTATUS(status) : -1;
  });
  child.wait_until_it_waits();
  ::usleep(20000);
  stop_often(child);
  child.let_it_end();
  expect_unseen(child, 1);
}

// Values that stand in registers only, general and vector ones, through two thousand million steps.
int spin_in_registers() {
  const uint64_t pattern = 0x0123456789abcdef, steps = 2000000000;
  uint64_t general = 0, vector = 0;
  __asm__ volatile(
      "mov %[pattern], %%r14\n"
      "movq %[pattern], %%xmm7\n"
      "mov %[steps], %%rcx\n"
      "1: add $1, %%r14\n"
      "dec %%rcx\n"
      "jnz 1b\n"
      "mov %%r14, %[general]\n"
      "movq %%xmm7, %[vector]\n"
      : [general] "=m"(general), [vector] "=m"(vector)
      : [pattern] "r"(pattern), [steps] "r"(steps)
      : "r14", "rcx", "xmm7", "cc");
  return int(general != pattern + steps) + 2 * int(vector != pattern);
}

TEST(StoppedThread, RegistersSurviveInALoopWithoutSystemCalls) {
  Child child([](Shared*) { return spin_in_registers(); });
  ::usleep(20000);
  int in_loop = 0;
  for (int i = 0; i < kStops; i++) {
    const Target target = target_of(child.pid());
    auto thread = StoppedThread::stop(target, child.pid(), 1000);
    ASSERT_TRUE(thread.ok()) << thread.error().message();
    in_loop += (*thread)->call_at_stop() == -1;
    auto answer = (*thread)->system_call(syscall_instruction(), SYS_getpid);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    ::usleep(1000);
  }
  EXPECT_GT(in_loop, kStops / 2);
  expect_unseen(child, 0);
}

// A signal that comes while the thread is ours stays pending, and its handler runs afterwards: the
// wait answers EINTR then, because of the signal.
sig_atomic_t g_handled;
TEST(StoppedThread, ASignalInBetweenIsHandledAfterwards) {
  Child child([](Shared* shared) {
    struct sigaction action = {};
    action.sa_handler = [](int) { g_handled++; };
    ::sigaction(SIGUSR1, &action, nullptr);
    const int result = epoll_one(shared, -1);
    return result == -1 && errno == EINTR ? errno = 0, 100 + g_handled : result;
  });
  child.wait_until_it_waits();
  {
    const Target target = target_of(child.pid());
    auto thread = StoppedThread::stop(target, child.pid(), 1000);
    ASSERT_TRUE(thread.ok()) << thread.error().message();
    ::kill(child.pid(), SIGUSR1);
    auto answer = (*thread)->system_call(syscall_instruction(), SYS_gettid);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
  }
  expect_unseen(child, 101);
}

// Fact: a mask that is set through ptrace is the thread's mask, and the old one comes back.
TEST(StoppedThread, TheMaskIsRestored) {
  Child child([](Shared* shared) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGUSR2);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    read_one(shared);
    ::sigprocmask(SIG_BLOCK, nullptr, &set);
    int count = 0;
    for (int signal = 1; signal < 65; signal++) count += ::sigismember(&set, signal) == 1;
    return ::sigismember(&set, SIGUSR2) == 1 ? count : -1;
  });
  child.wait_until_it_waits();
  stop_often(child);
  child.let_it_end();
  expect_unseen(child, 1);
}

TEST(StoppedThread, AStoppedProcessIsRefused) {
  Child child(read_one);
  child.wait_until_it_waits();
  ::kill(child.pid(), SIGSTOP);
  ::waitpid(child.pid(), nullptr, WUNTRACED);
  const Target target = target_of(child.pid());
  auto thread = StoppedThread::stop(target, child.pid(), 1000);
  ASSERT_FALSE(thread.ok());
  EXPECT_NE(thread.error().message().find("is stopped"), std::string::npos)
      << thread.error().message();
  ::kill(child.pid(), SIGCONT);
  child.let_it_end();
  expect_unseen(child, 1);
}

TEST(StoppedThread, ATracedProcessIsRefused) {
  Child child(read_one);
  child.wait_until_it_waits();
  const Target target = target_of(child.pid());
  auto first = StoppedThread::stop(target, child.pid(), 1000);
  ASSERT_TRUE(first.ok());
  std::thread([&] {
    auto second = StoppedThread::stop(target, child.pid(), 1000);
    EXPECT_FALSE(second.ok());
  }).join();
  ASSERT_TRUE((*first)->release().ok());
  child.let_it_end();
  expect_unseen(child, 1);
}

// --- memory

TEST(Tracing, TextThatIsNotMappedIsNotWritten) {
  Child child([](Shared*) { return ::pause(); });
  child.wait_until_it_waits();
  const Status written = target_of(child.pid()).write(16, "x", 1);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message().find("proc_mem.force_override"), std::string::npos)
      << written.error().message();
}

// --- restartable sequences

// A loop inside of one. The kernel makes it begin again whenever it has been interrupted.
void spin_in_a_sequence(const std::atomic<int>* ends) {
  auto* area = reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) +
                                              __rseq_offset);
  uint64_t at = 0;
  __asm__ volatile(
      ".pushsection __rseq_cs, \"aw\"\n"
      ".balign 32\n"
      "3: .long 0, 0\n"
      ".quad 1f, 2f - 1f, 4f\n"
      ".popsection\n"
      "6: lea 3b(%%rip), %0\n"
      "mov %0, %1\n"
      "1: cmpl $0, %2\n"
      "je 1b\n"
      "2: jmp 7f\n"
      ".byte 0x0f, 0xb9, 0x3d\n"
      ".long 0x53053053\n"  // the signature that libc registers
      "4: jmp 6b\n"
      "7:\n"
      : "=&r"(at), "=m"(area->rseq_cs)
      : "m"(*ends)
      : "memory", "cc");
}

TEST(StoppedThread, OneInARestartableSequenceIsRefused) {
  if (__rseq_size == 0) GTEST_SKIP() << "libc registers no restartable sequences here";
  Child child([](Shared* shared) {
    spin_in_a_sequence(&shared->ends);
    return 0;
  });
  int refused = 0;
  for (int i = 0; i < 10000 && refused < kStops; i++) {
    const Target target = target_of(child.pid());
    const auto thread = StoppedThread::stop(target, child.pid(), 1000);
    if (thread.ok()) continue;  // it has not begun, or was about to begin again
    EXPECT_EQ(thread.error().errno_value, EAGAIN);
    EXPECT_NE(thread.error().message().find("in a restartable sequence"), std::string::npos);
    refused++;
  }
  EXPECT_EQ(refused, kStops);
  child.tell_to_end();
  EXPECT_EQ(child.status(), 0);
}

}  // namespace
}  // namespace patchbay::attach
