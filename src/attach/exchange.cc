// SPDX-License-Identifier: MIT
#include "attach/exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "attach/all_threads.h"
#include "attach/tracing.h"
#include "base/monotonic_clock.h"
#include "serve/peer_watch.h"
#include "serve/told_to_end.h"

namespace patchbay::attach {
namespace {

using abi::AttachHeader;
using abi::AttachMessage;

constexpr int kInstallTimeoutMs = 200;  // while all threads stand still

struct Message {
  AttachMessage kind{};
  std::string body;
};

Result<Message> receive(int socket, int64_t end) {
  for (;;) {
    pollfd polled = {socket, POLLIN, 0};
    const int64_t left = end - monotonic_ms();
    const int ready = ::poll(&polled, 1, left > 0 ? int(left) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return sys_error("wait for the agent", errno);
    if (ready == 0) return user_error(ETIMEDOUT, "the agent in the process does not answer");
    break;
  }
  std::vector<char> bytes(abi::kMaxAttachMessage);
  const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno == ECONNRESET))
    return user_error(ESRCH, "the agent has gone, or its process has ended");
  if (size < 0) return sys_error("hear from the agent", errno);
  AttachHeader header;
  if (size_t(size) < sizeof header) return user_error(EPROTO, "the agent sends half a message");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != abi::kAttachVersion)
    return user_error(EPROTO, "the agent in the process is of another version");
  return Message{header.kind,
                 std::string(bytes.data() + sizeof header, size_t(size) - sizeof header)};
}

// The next message, which has to be one of this kind.
Result<std::string> expect(int socket, AttachMessage kind, int64_t end) {
  PB_ASSIGN(Message message, receive(socket, end));
  if (message.kind == kind) return std::move(message.body);
  if (message.kind == AttachMessage::kFailed) return user_error(ECANCELED, message.body);
  return user_error(EPROTO, "the agent says something else than was expected: message " +
                                std::to_string(uint32_t(message.kind)));
}

// In looks at an agent that may take its time. Told to end, we wait for one that does nothing no
// longer than kStillLooks, and for one that seems to be at work kToldLooks.
class Patience {
 public:
  Patience(pid_t pid, pid_t agent) : watch_(pid, agent) {}

  static constexpr int kLookMs = 100;
  bool is_over() {
    looks_++;
    still_ = watch_.look() == serve::PeerWatch::Sign::kLife ? 0 : still_ + 1;
    if (!serve::is_told_to_end()) return false;
    return still_ >= kStillLooks || looks_ >= kToldLooks;
  }
  // Another try would be as long.
  Error error() const {
    return user_error(still_ >= kStillLooks ? EHOSTDOWN : ETIMEDOUT,
                      "the agent in the process does not answer");
  }
  serve::PeerWatch& watch() { return watch_; }

 private:
  static constexpr int kStillLooks = 6, kToldLooks = 50;
  serve::PeerWatch watch_;
  int looks_ = 0, still_ = 0;
};

// The first message of an agent that has other things to do before.
Result<std::string> expect_first(int socket, AttachMessage kind, pid_t pid, int64_t end) {
  Patience patience(pid, 0);
  for (;;) {
    const int64_t look = std::min(monotonic_ms() + Patience::kLookMs, end);
    auto first = expect(socket, kind, look);
    if (first.ok() || first.error().errno_value != ETIMEDOUT || monotonic_ms() >= end) return first;
    if (patience.is_over()) return patience.error();
  }
}

Error too_busy() {
  return user_error(ETIME, "the agent in the process does not answer within " +
                               std::to_string(kInstallTimeoutMs) +
                               " ms, and its threads are held for no longer: try again when the "
                               "machine is less busy");
}

Status install(int socket, AllThreads& all, const HookPlan& plan) {
  PB_TRY(all.apply(plan));
  const auto& held = all.held();
  Status installed = send_message(
      socket, AttachMessage::kHooked,
      {reinterpret_cast<const char*>(held.data()), held.size() * sizeof(abi::AttachHeld)});
  if (installed.ok()) {
    const auto answer =
        expect(socket, AttachMessage::kInstalled, monotonic_ms() + kInstallTimeoutMs);
    if (!answer.ok())
      installed = answer.error().errno_value == ETIMEDOUT ? too_busy() : answer.error();
  }
  // Of a detach nothing is taken back: what was written then is the program as it was.
  if (!installed.ok() && !plan.head.leaves) all.undo();
  return installed;
}

}  // namespace

namespace {

ssize_t send_packet(int socket, std::string* packet, int passed) {
  iovec part{packet->data(), packet->size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

// The agent's thread is about to end: the program has as many threads as before when it has.
void wait_for_end_of(pid_t pid, pid_t thread) {
  constexpr int kWaitMs = 1000, kStepUs = 200;
  const std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread);
  for (const int64_t end = monotonic_ms() + kWaitMs;
       ::access(path.c_str(), F_OK) == 0 && monotonic_ms() < end;)
    ::usleep(kStepUs);
}

// What the agent says when it is through. The threads go on, and it is given time; but not while
// its process is stopped, which may be for long. An agent that cannot say kServing any more goes
// again: what it has said before we hang up counts.
Result<std::string> expect_last(int socket, AttachMessage kind, pid_t pid, pid_t agent) {
  constexpr int kLooks = 300, kStoppedLooks = 20;
  Patience patience(pid, agent);
  int stopped = 0;
  for (int looks = 0; looks < kLooks && stopped < kStoppedLooks; looks++) {
    auto last = expect(socket, kind, monotonic_ms() + Patience::kLookMs);
    if (last.ok() || last.error().errno_value != ETIMEDOUT) return last;
    if (patience.is_over()) break;
    stopped = patience.watch().is_stopped() ? stopped + 1 : 0;
  }
  ::shutdown(socket, SHUT_RDWR);
  auto last = expect(socket, kind, monotonic_ms());
  if (last.ok() || last.error().errno_value == ECANCELED) return last;
  if (stopped == 0) return patience.error();
  return user_error(ECANCELED, "process " + std::to_string(pid) +
                                   " is stopped, by a signal or a debugger: let it go on first, "
                                   "kill -CONT " +
                                   std::to_string(pid));
}

Result<Exchanged> stop_and_write(int socket, const Target& target, const HookPlan& plan,
                                 int timeout_ms) {
  Exchanged done;
  PB_ASSIGN(const std::unique_ptr<AllThreads> all, AllThreads::stop(target, plan, timeout_ms));
  const Status installed = install(socket, *all, plan);
  const Status released = all->release();
  done.stopped_ns = monotonic_ns() - all->stopped_since_ns();
  PB_TRY(installed);
  PB_TRY(released);
  return done;
}

}  // namespace

Status send_message(int socket, AttachMessage kind, std::string_view body, int passed) {
  count_step();
  std::string message(sizeof(AttachHeader), '\0');
  const AttachHeader header = {abi::kAttachVersion, kind};
  std::memcpy(message.data(), &header, sizeof header);
  message += body;
  if (message.size() > abi::kMaxAttachMessage)
    return user_error(E2BIG, "the settings for the agent are too long");
  if (send_packet(socket, &message, passed) == ssize_t(message.size())) return {};
  if (errno == EPIPE || errno == ECONNRESET)
    return user_error(ESRCH, "the agent has gone, or its process has ended");
  return sys_error("talk to the agent", errno);
}

Result<Exchanged> run_exchange(int socket, const Target& target, int timeout_ms,
                               const std::vector<pid_t>& known,
                               const std::function<void()>& has_started) {
  const pid_t pid = target.pid();
  const int64_t end = monotonic_ms() + timeout_ms;
  PB_ASSIGN(const std::string body, expect_first(socket, AttachMessage::kHooks, pid, end));
  if (has_started) has_started();
  PB_ASSIGN(const HookPlan plan, HookPlan::parse(body));
  PB_ASSIGN(const pid_t agent, agent_thread(target, plan.head.own_thread));
  if (std::find(known.begin(), known.end(), agent) != known.end())
    return user_error(EPROTO, "process " + std::to_string(pid) +
                                  " names a thread of its own for that of the agent: it plays one");
  auto done = stop_and_write(socket, target, plan, timeout_ms);
  if (!done.ok() && !plan.head.leaves) {
    ::shutdown(socket, SHUT_RDWR);  // it goes again, and is gone when this has been said
    wait_for_end_of(pid, agent);
  }
  if (!done.ok()) return done;
  const AttachMessage last = plan.head.leaves ? AttachMessage::kAsleep : AttachMessage::kServing;
  PB_ASSIGN(done->text, expect_last(socket, last, pid, agent));
  if (plan.head.leaves) wait_for_end_of(pid, agent);
  return done;
}

}  // namespace patchbay::attach
