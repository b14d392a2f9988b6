// SPDX-License-Identifier: MIT
#include "serve/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "serve/directory.h"

namespace patchbay::serve {
namespace {

// A call fails when so many looks in a row, one each kLookMs, see no sign of life; or when the
// agent works for longer than this without an answer.
constexpr int kLookMs = 100, kSilentLooks = 10, kAnswerSeconds = 60;
constexpr int kStoppedLookMs = 10, kStoppedLooks = 100;  // before something is sent
constexpr int kHelloTries = 3;
constexpr int kEagerTries = 50;
constexpr int kFirstWaitMs = 1, kLongestWaitMs = 50;

Error no_agent(int pid, const std::string& directory) {
  std::string name = "Process " + std::to_string(pid);
  if (::kill(pid, 0) != 0 && errno == ESRCH) return user_error(ESRCH, name + " does not exist.");
  return user_error(ESRCH, name + " has no agent in " + directory + "; `patchbay attach " +
                               std::to_string(pid) + "` puts it into the running process.");
}

// The descriptor that came with a message, if any; more than one are closed.
UniqueFd take_descriptor(msghdr* message) {
  UniqueFd result;
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      result.reset(fd);
    }
  }
  return result;
}

// The process at the other end, as the kernel knows it; 0: unknown.
int peer_pid(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

// Calls that change something by themselves.
bool changes(uint32_t call) {
  return call == uint32_t(Call::kWrite) || call == uint32_t(Call::kWriteFile) ||
         call == uint32_t(Call::kMkdir) || call == uint32_t(Call::kRmdir) ||
         call == uint32_t(Call::kIoctl);
}

// N of "…/N" or "…/N.1"; 0: something else.
int pid_of_directory(const std::string& directory) {
  return std::atoi(directory.c_str() + directory.rfind('/') + 1);
}

// A full queue of connections is not the end: the agent may be at work.
Result<UniqueFd> connect_patiently(const std::string& directory) {
  PeerWatch watch(pid_of_directory(directory));
  (void)watch.look();
  for (int waited = 0;; waited++) {
    Result<UniqueFd> fd = connect_socket(directory);
    if (fd.ok() || fd.error().errno_value != EAGAIN) return fd;
    if (waited >= kAnswerSeconds || watch.look() != PeerWatch::Sign::kLife) {
      return user_error(ETIMEDOUT, "Process " + std::to_string(watch.pid()) +
                                       " does not answer (stopped?): others wait for it, too.");
    }
  }
}

}  // namespace

bool is_silent(const Error& error) { return error.errno_value == ETIMEDOUT; }

bool is_gone(const Error& error) {
  return error.errno_value == ECONNRESET || error.errno_value == EPIPE ||
         error.errno_value == ECONNREFUSED;
}

Result<std::unique_ptr<Client>> Client::connect(int pid) {
  PB_ASSIGN(std::string directory, runtime_directory(false));
  Result<std::unique_ptr<Client>> client = connect_directory(directory + "/" + std::to_string(pid));
  if (client.ok()) return client;
  int error = client.error().errno_value;
  if (error == ENOENT || error == ECONNREFUSED || is_gone(client.error()))
    return no_agent(pid, directory);
  return client;
}

Result<std::unique_ptr<Client>> Client::connect_directory(const std::string& process_directory) {
  // A program that closes all its descriptors may just have closed the agent's: it makes new ones.
  Status status;
  for (int i = 0; i < kHelloTries; i++) {
    Result<UniqueFd> fd = connect_patiently(process_directory);
    std::unique_ptr<Client> client(new Client());
    if (fd.ok()) client->fd_ = std::move(*fd);
    status = fd.ok() ? client->hello() : Status(fd.error());
    if (status.ok()) return client;
    if (!is_gone(status.error())) break;
    timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return status.error();
}

Status Client::hello() {
  timeval look{0, kLookMs * 1000};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look);
  pid_ = peer_pid(fd_.get());
  watch_ = PeerWatch(pid_);
  Request request{};
  request.call = uint32_t(Call::kHello);
  request.value = kProtocolVersion;
  PB_ASSIGN(Answer answer, call(request, ""));
  const std::string& text = answer.text;
  const int seen_pid = pid_;
  size_t end = text.find('\0');
  pid_ = std::atoi(text.c_str());
  if (end == text.npos) return {};
  exe_ = text.c_str() + end + 1;
  // The agent's thread, where its numbers are ours.
  end = text.find('\0', end + 1);
  if (end == text.npos) return {};
  if (pid_ == seen_pid) watch_ = PeerWatch(pid_, std::atoi(text.c_str() + end + 1));
  end = text.find('\0', end + 1);
  if (end != text.npos) arrival_ = text.c_str() + end + 1;
  return {};
}

bool Client::gone() const {
  pollfd end{fd_.get(), POLLIN, 0};
  return ::poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLERR | POLLNVAL));
}

Status Client::send(const Request& request, std::string_view data) {
  if (data.size() > kMaxWrite) return user_error(EMSGSIZE, "A request is longer than one message.");
  iovec parts[2] = {{const_cast<Request*>(&request), sizeof request},
                    {const_cast<char*>(data.data()), data.size()}};
  msghdr out{};
  out.msg_iov = parts;
  out.msg_iovlen = 2;
  const ssize_t sent =
      wait_for([&](int flags) { return ::sendmsg(fd_.get(), &out, MSG_NOSIGNAL | flags); });
  if (sent < 0 && errno == EAGAIN) return silence();
  return sent < 0 ? Status(no_talk(errno)) : Status();
}

// What the process has left unread when it ended is a reset for us.
Error Client::no_talk(int error) const {
  if (error != 0 && error != EPIPE && error != ECONNRESET)
    return sys_error("talk to the agent", error);
  return user_error(EPIPE, "The agent of process " + std::to_string(pid_) +
                               " is gone: the process has ended or executed another program, or "
                               "its agent does not talk to this user.");
}

// Tries until it succeeds, fails, or the process gives no sign of life: then errno is EAGAIN. An
// attempt lasts kLookMs. Where nothing has moved when we waited last, one look is enough, at once.
ssize_t Client::wait_for(const std::function<ssize_t(int flags)>& attempt) {
  const bool was_silent = owed_ && !answers();
  int silent = was_silent ? kSilentLooks - 1 : 0;
  for (int looks = 0; looks < kAnswerSeconds * 1000 / kLookMs; looks++) {
    const ssize_t size = attempt(was_silent && looks == 0 ? MSG_DONTWAIT : 0);
    if (size >= 0) last_sign_ = PeerWatch::Sign::kLife;
    if (size >= 0 || (errno != EAGAIN && errno != EINTR)) return size;
    if (errno == EINTR) continue;
    last_sign_ = watch_.look();
    silent = last_sign_ == PeerWatch::Sign::kLife ? 0 : silent + 1;
    if (silent >= kSilentLooks) break;
  }
  errno = EAGAIN;
  return -1;
}

Error Client::silence() const {
  const std::string name = "Process " + std::to_string(watch_.pid() ? watch_.pid() : pid_);
  switch (last_sign_) {
    case PeerWatch::Sign::kStopped:
      return user_error(ETIMEDOUT, name +
                                       " does not answer: it is stopped, by a signal or a "
                                       "debugger.");
    case PeerWatch::Sign::kStill:
      return user_error(ETIMEDOUT, name + " does not answer (stopped?): nothing in it runs.");
    case PeerWatch::Sign::kLife:
      break;
  }
  return user_error(ETIMEDOUT, name + " has not answered for " + std::to_string(kAnswerSeconds) +
                                   " seconds, though it runs.");
}

// Waits for a process that is stopped for a moment, as a debugger does it.
bool Client::goes_on() {
  if (!watch_.is_stopped()) return true;
  const int most = answers() ? kStoppedLooks : 1;
  for (int looks = 0; looks < most; looks++) {
    last_sign_ = watch_.look();
    if (last_sign_ != PeerWatch::Sign::kStopped) return true;
    (void)::poll(nullptr, 0, kStoppedLookMs);
  }
  return false;
}

// Before a call: takes the answer that is owed for the one before.
Status Client::settle() {
  if (owed_) {
    const Owed late = *owed_;
    Result<Answer> answer = receive();
    if (owed_) return answer.error();
    keep_what_came_late(late, answer);
  }
  while (!to_close_.empty()) {
    const uint32_t handle = to_close_.back();
    to_close_.pop_back();
    (void)close(handle);
    if (owed_) return silence();
  }
  return {};
}

void Client::keep_what_came_late(const Owed& late, const Result<Answer>& answer) {
  if (!answer.ok()) return;
  if (late.call == Call::kRead) late_bytes_[late.handle] += answer.value().text;
  if (late.call == Call::kOpen) to_close_.push_back(answer.value().reply.handle);
}

Result<Client::Answer> Client::call(Request request, std::string_view data) {
  PB_TRY(settle());
  if (changes(request.call) && !goes_on()) return silence();
  PB_TRY(send(request, data));
  owed_ = Owed{Call(request.call), request.handle};
  return receive();
}

// The answer to the call that is owed one. Most come sooner than a processor can fall asleep and be
// woken: looks for a moment, letting the agent have this processor, before it waits.
Result<Client::Answer> Client::receive() {
  Answer answer;
  input_.resize(kMaxMessage);
  iovec part{input_.data(), input_.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr in{};
  in.msg_iov = &part;
  in.msg_iovlen = 1;
  in.msg_control = control;
  in.msg_controllen = sizeof control;
  int eager = kEagerTries;
  const ssize_t size = wait_for([&](int flags) {
    for (; eager > 0; eager--) {
      const ssize_t now = ::recvmsg(fd_.get(), &in, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
      if (now >= 0 || (errno != EAGAIN && errno != EINTR)) return now;
      ::sched_yield();
    }
    return ::recvmsg(fd_.get(), &in, MSG_CMSG_CLOEXEC | flags);
  });
  if (size < 0 && errno == EAGAIN) return silence();
  owed_.reset();
  if (size <= 0) return no_talk(size < 0 ? errno : 0);
  answer.descriptor = take_descriptor(&in);
  if (size_t(size) < sizeof answer.reply)
    return user_error(EPROTO, "The agent's answer is too short.");
  std::memcpy(&answer.reply, input_.data(), sizeof answer.reply);
  answer.text.assign(input_.data() + sizeof answer.reply, size_t(size) - sizeof answer.reply);
  if (answer.reply.error == 0) return answer;
  if (answer.text.empty()) return sys_error("the agent", answer.reply.error);
  return user_error(answer.reply.error, answer.text);
}

Result<Client::Answer> Client::call(Call call, uint32_t handle, uint64_t value,
                                    std::string_view data) {
  Request request{};
  request.call = uint32_t(call);
  request.handle = handle;
  request.value = value;
  return this->call(request, data);
}

Result<std::vector<std::string>> Client::list(std::string_view path) {
  std::vector<std::string> names;
  for (;;) {
    Request request{};
    request.call = uint32_t(Call::kList);
    request.value = names.size();
    PB_ASSIGN(Answer answer, call(request, path));
    if (answer.text.empty()) return names;
    for (std::string& name : split_lines(answer.text)) names.push_back(std::move(name));
    if (names.size() >= answer.reply.value) return names;
  }
}

Result<uint32_t> Client::open(std::string_view path, uint32_t flags) {
  Request request{};
  request.call = uint32_t(Call::kOpen);
  request.flags = flags;
  PB_ASSIGN(Answer answer, call(request, path));
  return answer.reply.handle;
}

Status Client::done(const Result<Answer>& answer) {
  return answer.ok() ? Status() : Status(answer.error());
}

Result<Client::FileStatus> Client::stat(std::string_view path) {
  PB_ASSIGN(Answer answer, call(Call::kStat, 0, 0, path));
  FileStatus status;
  if (answer.text.size() != sizeof status.size)
    return user_error(EPROTO, "The agent's answer has the wrong size.");
  status.mode = uint32_t(answer.reply.value);
  std::memcpy(&status.size, answer.text.data(), sizeof status.size);
  return status;
}

Status Client::make_directory(std::string_view path) {
  return done(call(Call::kMkdir, 0, 0, path));
}
Status Client::remove_directory(std::string_view path) {
  return done(call(Call::kRmdir, 0, 0, path));
}

Result<std::string> Client::read(uint32_t handle, size_t size, tracefs::ReadMode mode) {
  PB_TRY(settle());
  if (auto late = late_bytes_.find(handle); late != late_bytes_.end()) {
    std::string text = late->second.substr(0, size);
    late->second.erase(0, text.size());
    if (late->second.empty()) late_bytes_.erase(late);
    if (!text.empty()) return text;
  }
  Request request{};
  request.call = uint32_t(Call::kRead);
  request.handle = handle;
  request.flags = uint32_t(mode);
  request.value = size;
  PB_ASSIGN(Answer answer, call(request, ""));
  return std::move(answer.text);
}

Result<std::string> Client::read_waiting(uint32_t handle, size_t size,
                                         const std::function<bool()>& stop) {
  for (int wait_ms = kFirstWaitMs;; wait_ms = std::min(wait_ms * 2, kLongestWaitMs)) {
    Result<std::string> text = read(handle, size);
    if (text.ok()) return text;
    if (is_gone(text.error())) return std::string();
    const bool stopped = is_silent(text.error()) && last_sign_ == PeerWatch::Sign::kStopped;
    if (text.error().errno_value != EAGAIN && !stopped) return text;
    if (stop && stop()) return sys_error("read", EINTR);
    pollfd end{fd_.get(), 0, 0};  // only the end of the connection ends the wait early
    (void)::poll(&end, 1, wait_ms);
  }
}

Result<size_t> Client::write(uint32_t handle, std::string_view bytes, uint32_t caller) {
  Request request{};
  request.call = uint32_t(Call::kWrite);
  request.handle = handle;
  request.caller = caller;
  PB_ASSIGN(Answer answer, call(request, bytes));
  return size_t(std::min<uint64_t>(answer.reply.value, bytes.size()));
}

Status Client::flush(uint32_t handle) { return done(call(Call::kFlush, handle, 0)); }
Status Client::ioctl(uint32_t handle, uint32_t command) {
  return done(call(Call::kIoctl, handle, command));
}
Status Client::close(uint32_t handle) {
  late_bytes_.erase(handle);
  Status settled = owed_ ? settle() : Status();
  if (settled.ok()) return done(call(Call::kClose, handle, 0));
  to_close_.push_back(handle);
  return settled;
}

Result<uint64_t> Client::poll(uint32_t handle, bool tell) {
  PB_ASSIGN(Answer answer, call(Call::kPoll, handle, tell));
  return answer.reply.value;
}

Result<bool> Client::readable(uint32_t handle) {
  PB_ASSIGN(uint64_t state, poll(handle, false));
  return (state & kPollReadable) != 0;
}

Result<std::string> Client::read_all(std::string_view path) {
  PB_ASSIGN(uint32_t handle, open(path, O_RDONLY));
  std::string text;
  for (;;) {
    Result<std::string> part = read(handle, kMaxMessage);
    if (!part.ok() && part.error().errno_value == EAGAIN) break;
    if (!part.ok()) (void)close(handle);
    if (!part.ok()) return part.error();
    if (part->empty()) break;
    text += *part;
  }
  PB_TRY(close(handle));
  return text;
}

Status Client::write_all(std::string_view path, std::string_view text, bool truncate) {
  uint32_t flags = O_WRONLY | (truncate ? O_TRUNC : O_APPEND);
  if (path.size() + 1 + text.size() > kMaxWrite || path.find('\0') != path.npos)
    return write_pieces(path, text, flags);
  Request request{};
  request.call = uint32_t(Call::kWriteFile);
  request.flags = flags;
  std::string data;
  data.reserve(path.size() + 1 + text.size());
  data.append(path).append(1, '\0').append(text);
  return done(call(request, data));
}

Status Client::write_pieces(std::string_view path, std::string_view text, uint32_t flags) {
  PB_ASSIGN(uint32_t handle, open(path, flags));
  while (!text.empty()) {
    std::string_view part = text.substr(0, kMaxWrite);
    size_t newline = part.rfind('\n');
    if (part.size() < text.size() && newline != part.npos) part = part.substr(0, newline + 1);
    Result<size_t> taken = write(handle, part);
    if (taken.ok() && *taken == 0) taken = user_error(EIO, "The agent takes no more of the text.");
    if (!taken.ok()) (void)close(handle);
    if (!taken.ok()) return taken.error();
    text.remove_prefix(*taken);
  }
  return close(handle);
}

Result<UniqueFd> Client::open_buffer() {
  PB_ASSIGN(Answer answer, call(Call::kOpen, 0, 0, "buffer"));
  if (!answer.descriptor.valid()) return user_error(EPROTO, "The agent has not passed its buffer.");
  UniqueFd fd = std::move(answer.descriptor);
  PB_TRY(close(answer.reply.handle));
  return fd;
}

Result<UniqueFd> Client::detach() {
  PB_TRY(done(call(Call::kDetach, 0, 0)));
  return std::move(fd_);
}

Status Client::resume() { return done(call(Call::kResume, 0, 0)); }

}  // namespace patchbay::serve
