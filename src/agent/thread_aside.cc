// SPDX-License-Identifier: MIT
#include "agent/thread_aside.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "agent/agent.h"
#include "agent/control_thread.h"
#include "agent/followers.h"
#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "base/raw_syscall.h"
#include "serve/own_descriptors.h"

namespace patchbay {
namespace {

enum State : uint32_t { kServing, kAsked, kLeaving, kBack };
std::atomic<uint32_t> g_state{kServing};
std::atomic<uint32_t> g_control_tid{0};
// The ends of the pair, by their numbers in the program's table. -1: the thread begins anew.
std::atomic<int> g_giving{-1}, g_taking{-1};

constexpr size_t kMostAtOnce = 128;  // of SCM_MAX_FD, 253
constexpr int kAskMs = 2000, kBackMs = 5000;

// One message: descriptors, and their numbers.
struct Numbers {
  uint32_t count;
  int32_t number[kMostAtOnce];
};
class Message {
 public:
  explicit Message(size_t descriptors) {
    header.msg_iov = &part_;
    header.msg_iovlen = 1;
    header.msg_control = passed_;
    header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
  }
  Message(const Message&) = delete;
  Numbers numbers = {};
  msghdr header = {};

 private:
  iovec part_ = {&numbers, sizeof numbers};
  alignas(cmsghdr) char passed_[CMSG_SPACE(kMostAtOnce * sizeof(int))] = {};
};

struct CloseDir {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// All descriptors of the calling thread's table above the standard ones.
std::vector<int> own_descriptors(int but) {
  std::vector<int> list;
  std::unique_ptr<DIR, CloseDir> stream(::opendir("/proc/thread-self/fd"));
  if (!stream) {
    constexpr int kMost = 1024;
    for (int fd = 3; fd < kMost; fd++)
      if (fd != but && ::fcntl(fd, F_GETFD) >= 0) list.push_back(fd);
    return list;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    const int fd = std::atoi(entry->d_name);
    if (fd > 2 && fd != but && fd != ::dirfd(stream.get())) list.push_back(fd);
  }
  return list;
}

// Our table is another one than the program's, where the socket is.
int take_out_of_program(int number) {
  const long process = raw_syscall(SYS_pidfd_open, ::getpid(), 0);
  if (process < 0) return -1;
  const long fd = raw_syscall(SYS_pidfd_getfd, process, number, 0);
  ::close(int(process));
  return int(fd);
}

bool give(int socket, const int* fds, size_t count) {
  Message message(count);
  message.numbers.count = uint32_t(count);
  std::copy(fds, fds + count, message.numbers.number);
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
  return ::sendmsg(socket, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         ssize_t(sizeof(Numbers));
}

void give_descriptors() {
  const int socket = take_out_of_program(g_giving.load(std::memory_order_acquire));
  if (socket < 0) return;
  const std::vector<int> all = own_descriptors(socket);
  for (size_t at = 0; at < all.size(); at += kMostAtOnce)
    if (!give(socket, &all[at], std::min(kMostAtOnce, all.size() - at))) break;
  ::close(socket);
}

struct Taken {
  int fd, number;
};

// What has come in one message. False: there is no more.
bool take(int socket, std::vector<Taken>* taken) {
  Message message(kMostAtOnce);
  if (::recvmsg(socket, &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
      ssize_t(sizeof(Numbers)))
    return false;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  if (!rights || rights->cmsg_type != SCM_RIGHTS) return false;
  const size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < std::min<size_t>(count, message.numbers.count); i++) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights) + i * sizeof fd, sizeof fd);
    taken->push_back({fd, message.numbers.number[i]});
  }
  return true;
}

// In a table that has the standard ones and the socket. First out of each other's way.
void take_descriptors(int socket) {
  int above = socket;
  std::vector<Taken> taken;
  while (take(socket, &taken)) {
  }
  for (const Taken& one : taken) above = std::max({above, one.fd, one.number});
  ::close(socket);
  for (Taken& one : taken) {
    const int moved = ::fcntl(one.fd, F_DUPFD_CLOEXEC, above + 1);
    ::close(one.fd);
    one.fd = moved;
  }
  for (const Taken& one : taken) {
    if (one.fd < 0) continue;
    ::dup3(one.fd, one.number, O_CLOEXEC);
    ::close(one.fd);
  }
}

// True: this thread is the program's only one. (Two links of the directory are its own.)
bool is_alone_with_ours() {
  struct stat tasks;
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 2 + 2;
}

bool is_there(uint32_t tid) { return raw_syscall(SYS_tgkill, ::getpid(), tid, 0) != -ESRCH; }

void pause_100us() {
  const timespec pause = {0, 100'000};
  raw_syscall(SYS_nanosleep, raw_pointer(&pause), 0);
}

template <typename Condition>
bool wait_for(int ms, const Condition& condition) {
  for (int i = 0; i < ms * 10; i++) {
    if (condition()) return true;
    pause_100us();
  }
  return condition();
}

bool read_capabilities(long tid, __user_cap_data_struct (&data)[_LINUX_CAPABILITY_U32S_3]) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, int(tid)};
  return raw_syscall(SYS_capget, raw_pointer(&header), raw_pointer(data)) == 0;
}

}  // namespace

bool has_other_rights_than_our_thread() {
  const int tid =
      own_agent() ? int(g_control_tid.load(std::memory_order_acquire)) : follower_thread();
  __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3], ours[_LINUX_CAPABILITY_U32S_3];
  if (raw_syscall(SYS_prctl, PR_GET_SECUREBITS) > 0) return true;  // with PR_SET_KEEPCAPS
  if (tid < 0) return true;
  return tid && read_capabilities(0, own) && read_capabilities(tid, ours) &&
         std::memcmp(own, ours, sizeof own) != 0;
}

// Raw system calls alone. Two links of the directory are its own.
bool program_has_other_threads() {
  const Agent* const agent = own_agent();
  // Of an agent that has come late: its hooks are there, and so is its thread.
  const bool has_control =
      agent && (agent->settings.attached || g_control_tid.load(std::memory_order_acquire) != 0);
  const bool has_ours = has_control || (!agent && follower_thread() != 0);
  struct stat tasks = {};
  static const char kTasks[] = "/proc/self/task";
  const long done =
      raw_syscall(SYS_newfstatat, AT_FDCWD, raw_pointer(kTasks), raw_pointer(&tasks), 0);
  return done != 0 || tasks.st_nlink > 2u + 1u + (has_ours ? 1 : 0);
}

// An agent that has come late leaves with the tool that has brought it, and is not made again here.
bool ThreadAside::make_control_thread_leave() {
  Agent* const agent = own_agent();
  const uint32_t tid = g_control_tid.load(std::memory_order_acquire);
  if (!agent || agent->settings.attached || !agent->server || !tid || !is_alone_with_ours())
    return false;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_) != 0) return false;
  g_giving.store(ends_[1], std::memory_order_release);
  g_state.store(kAsked, std::memory_order_release);
  agent->server->stop();
  agent->server->wake();
  uint32_t asked = kAsked;
  const auto leaves = [] { return g_state.load(std::memory_order_acquire) == kLeaving; };
  if (!wait_for(kAskMs, leaves) &&
      g_state.compare_exchange_strong(asked, kServing, std::memory_order_acq_rel)) {
    agent->server->go_on();  // it is at work for somebody
    return false;
  }
  while (is_there(tid)) pause_100us();
  return true;
}

ThreadAside::ThreadAside(bool wanted) {
  if (!wanted || pb_thread.in_agent) return;
  const uint64_t all = ~uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&all), raw_pointer(&signals_), 8);
  is_follower_aside_ = follower_steps_aside();
  if (is_follower_aside_) return;
  AgentScope scope;
  try {
    is_control_aside_ = make_control_thread_leave();
  } catch (const std::bad_alloc&) {
    say_no_memory();
  }
  if (is_control_aside_) return;
  for (const int end : ends_)
    if (end >= 0) ::close(end);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&signals_), 0, 8);
}

ThreadAside::~ThreadAside() {
  if (!is_follower_aside_ && !is_control_aside_) return;
  const int saved = errno;
  AgentScope scope;
  if (is_follower_aside_) follower_steps_back();
  if (is_control_aside_) {
    g_taking.store(ends_[0], std::memory_order_release);
    g_agent->server->go_on();
    if (start_control_thread(g_agent))
      (void)wait_for(kBackMs, [] { return g_state.load(std::memory_order_acquire) == kBack; });
    g_state.store(kServing, std::memory_order_release);
    for (const int end : ends_) ::close(end);
  }
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&signals_), 0, 8);
  errno = saved;
}

void control_thread_is_there(bool has_own_descriptors) {
  g_control_tid.store(uint32_t(raw_syscall(SYS_gettid)), std::memory_order_release);
  int socket = g_taking.exchange(-1, std::memory_order_acq_rel);
  if (socket < 0) return;
  if (has_own_descriptors && serve::private_descriptors(&socket)) take_descriptors(socket);
  g_state.store(kBack, std::memory_order_release);
}

bool control_thread_leaves(bool has_own_descriptors) {
  uint32_t asked = kAsked;
  if (!g_state.compare_exchange_strong(asked, kLeaving, std::memory_order_acq_rel)) {
    own_agent()->server->go_on();
    return false;
  }
  g_control_tid.store(0, std::memory_order_release);
  if (has_own_descriptors) give_descriptors();
  return true;
}

}  // namespace patchbay

namespace {

template <typename... Arguments>
int change_rights(patchbay::Next which, Arguments... arguments) {
  const patchbay::ThreadAside aside(patchbay::has_other_rights_than_our_thread());
  return patchbay::next_function<int (*)(Arguments...)>(which)(arguments...);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
// The kernel wants one thread for some of what these two do.
PB_STAND_IN int unshare(int flags) noexcept {
  constexpr int kAlone = CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;
  const patchbay::ThreadAside aside(flags & kAlone);
  const long result = patchbay::raw_syscall(SYS_unshare, flags);
  if (result >= 0) return int(result);
  errno = int(-result);
  return -1;
}
PB_STAND_IN int setns(int fd, int kind) noexcept {
  const patchbay::ThreadAside aside(true);
  const long result = patchbay::raw_syscall(SYS_setns, fd, kind);
  if (result >= 0) return int(result);
  errno = int(-result);
  return -1;
}

// libc has them done by all threads.
PB_STAND_IN int setuid(uid_t id) noexcept { return change_rights(patchbay::Next::kSetuid, id); }
PB_STAND_IN int setgid(gid_t id) noexcept { return change_rights(patchbay::Next::kSetgid, id); }
PB_STAND_IN int seteuid(uid_t id) noexcept { return change_rights(patchbay::Next::kSeteuid, id); }
PB_STAND_IN int setegid(gid_t id) noexcept { return change_rights(patchbay::Next::kSetegid, id); }
PB_STAND_IN int setreuid(uid_t real, uid_t effective) noexcept {
  return change_rights(patchbay::Next::kSetreuid, real, effective);
}
PB_STAND_IN int setregid(gid_t real, gid_t effective) noexcept {
  return change_rights(patchbay::Next::kSetregid, real, effective);
}
PB_STAND_IN int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return change_rights(patchbay::Next::kSetresuid, real, effective, saved);
}
PB_STAND_IN int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return change_rights(patchbay::Next::kSetresgid, real, effective, saved);
}
PB_STAND_IN int setgroups(size_t count, const gid_t* groups) noexcept {
  return change_rights(patchbay::Next::kSetgroups, count, groups);
}
PB_STAND_IN int initgroups(const char* user, gid_t group) {
  return change_rights(patchbay::Next::kInitgroups, user, group);
}
}
#pragma GCC visibility pop
