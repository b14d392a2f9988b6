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
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "serve/directory.h"
#include "serve/peer.h"
#include "serve/told_to_end.h"

namespace patchbay::serve {
namespace {

// A call fails when so many looks in a row, one each kLookMs, see no sign of life; or when the
// agent works for longer than this without an answer.
constexpr int kLookMs = 100, kSilentLooks = 10, kAnswerMs = 60'000;
constexpr int kStoppedLookMs = 10, kStoppedLooks = 100;  // before something is sent
constexpr int kHelloTries = 3;
constexpr int kEagerTries = 50;
constexpr int kFirstWaitMs = 1, kLongestWaitMs = 50;
constexpr size_t kSmallPart = 4096;  // an agent that answers in such parts is not busy for us

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

// Who has sent a message, as the kernel says; 0: not to be seen from here.
int sender_of(msghdr* message) {
  ucred sender{};
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
      std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
  return sender.pid;
}

// Calls that change something by themselves.
bool changes(uint32_t call) {
  return call == uint32_t(Call::kWrite) || call == uint32_t(Call::kWriteFile) ||
         call == uint32_t(Call::kMkdir) || call == uint32_t(Call::kRmdir) ||
         call == uint32_t(Call::kIoctl) || call == uint32_t(Call::kDetach);
}

std::atomic<bool (*)()> g_end_check = nullptr;
std::atomic<bool> g_ends = false;

Error interrupted(int pid) {
  return user_error(EINTR, "interrupted: process " + std::to_string(pid) +
                               " has not done yet what it was asked for");
}

// A full queue of connections is not the end: the agent may be at work.
Result<UniqueFd> connect_patiently(const std::string& directory, int64_t until_ms) {
  PeerWatch watch(pid_of_directory(directory));
  (void)watch.look();
  for (int looks = 0, silent = 0;; looks++) {
    Result<UniqueFd> fd = connect_socket(directory, kLookMs);
    if (fd.ok() || fd.error().errno_value != EAGAIN) return fd;
    if (is_told_to_end()) return interrupted(watch.pid());
    silent = watch.look() == PeerWatch::Sign::kLife ? 0 : silent + 1;
    if (looks >= kAnswerMs / kLookMs || silent >= kSilentLooks ||
        (until_ms && monotonic_ms() >= until_ms))
      return user_error(ETIMEDOUT, "Process " + std::to_string(watch.pid()) +
                                       " does not answer (stopped?): others wait for it, too.");
  }
}

}  // namespace

void set_end_check(bool (*check)()) {
  g_end_check.store(check, std::memory_order_relaxed);
  g_ends.store(false, std::memory_order_relaxed);
}
bool is_told_to_end() {
  const auto check = g_end_check.load(std::memory_order_relaxed);
  if (!g_ends.load(std::memory_order_relaxed) && check && check()) end_soon();
  return g_ends.load(std::memory_order_relaxed);
}

void end_soon() { g_ends.store(true, std::memory_order_relaxed); }

bool is_silent(const Error& error) { return error.errno_value == ETIMEDOUT; }

bool is_gone(const Error& error) {
  return error.errno_value == ECONNRESET || error.errno_value == EPIPE ||
         error.errno_value == ECONNREFUSED;
}

Result<std::unique_ptr<Client>> Client::connect(int pid) {
  PB_ASSIGN(std::string directory, runtime_directory(false));
  Result<std::unique_ptr<Client>> client =
      connect_to(directory + "/" + std::to_string(pid), true, 0);
  if (client.ok()) return client;
  int error = client.error().errno_value;
  if (error == ENOENT || error == ECONNREFUSED || is_gone(client.error()))
    return no_agent(pid, directory);
  return client;
}

Result<std::unique_ptr<Client>> Client::connect_directory(const std::string& process_directory,
                                                          int64_t until_ms) {
  return connect_to(process_directory, false, until_ms);
}

Result<std::unique_ptr<Client>> Client::connect_to(const std::string& directory, bool is_itself,
                                                   int64_t until_ms) {
  // A program that closes all its descriptors may just have closed the agent's: it makes new ones.
  Status status;
  for (int i = 0; i < kHelloTries; i++) {
    Result<UniqueFd> fd = connect_patiently(directory, until_ms);
    std::unique_ptr<Client> client(new Client());
    client->until_ms_ = until_ms;
    if (fd.ok()) client->fd_ = std::move(*fd);
    status = fd.ok() ? client->check_peer(directory, is_itself) : Status(fd.error());
    if (status.ok()) status = client->hello();
    if (status.ok()) return client;
    if (!is_gone(status.error())) break;
    timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return status.error();
}

// Each message comes with the number of who has sent it.
Status Client::check_peer(const std::string& directory, bool is_itself) {
  peer_ = peer_pid(fd_.get());
  pid_ = pid_of_directory(directory);
  watch_ = PeerWatch(peer_);
  if (!(is_itself ? is_process_itself : is_process_of_directory)(peer_, pid_))
    return foreign_peer(peer_, directory);
  const int on = 1;
  if (::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return sys_error("ask who answers", errno);
  return {};
}

Status Client::hello() {
  timeval look{0, kLookMs * 1000};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look);
  Request request{};
  request.call = uint32_t(Call::kHello);
  request.value = kProtocolVersion;
  PB_ASSIGN(Answer answer, call(request, ""));
  const std::string& text = answer.text;
  size_t end = text.find('\0');
  const int said_pid = std::atoi(text.c_str());
  if (pid_ == 0) pid_ = said_pid;
  if (end == text.npos) return {};
  exe_ = text.c_str() + end + 1;
  // The agent's thread, where its numbers are ours.
  end = text.find('\0', end + 1);
  if (end == text.npos) return {};
  if (said_pid == peer_) watch_ = PeerWatch(peer_, std::atoi(text.c_str() + end + 1));
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

bool Client::is_too_long(int64_t begin_ms) const {
  const int64_t now = monotonic_ms();
  return now - begin_ms >= kAnswerMs || (until_ms_ && now >= until_ms_);
}

// The tool is told to end: true when an agent has had the time that it is given then.
bool Client::use_up(bool is_busy, uint64_t begin_ns) {
  int64_t& left = is_busy ? busy_ns_ : idle_ns_;
  left -= int64_t(monotonic_ns() - begin_ns);
  if (left <= 0) refused_ = answers() ? interrupted(pid_) : silence();
  return refused_.has_value();
}

// Tries until it succeeds, fails, or the process gives no sign of life or takes too long: then
// errno is EAGAIN. An attempt lasts kLookMs. Where nothing has moved when we waited last, one look
// is enough, at once.
ssize_t Client::wait_for(const std::function<ssize_t(int flags)>& attempt) {
  const bool was_silent = owed_ && !answers();
  int silent = was_silent ? kSilentLooks - 1 : 0;
  const int64_t begin_ms = monotonic_ms();
  for (bool is_first = true; silent < kSilentLooks && !is_too_long(begin_ms); is_first = false) {
    const uint64_t begin_ns = monotonic_ns();
    const ssize_t size = attempt(was_silent && is_first ? MSG_DONTWAIT : 0);
    if (size >= 0) last_sign_ = PeerWatch::Sign::kLife;
    if (size >= 0 || (errno != EAGAIN && errno != EINTR)) return size;
    if (errno == EAGAIN) {
      last_sign_ = watch_.look();
      silent = last_sign_ == PeerWatch::Sign::kLife ? 0 : silent + 1;
    }
    if (!is_told_to_end()) continue;
    if (use_up(last_sign_ == PeerWatch::Sign::kLife && watch_.is_busy(), begin_ns) ||
        last_sign_ == PeerWatch::Sign::kFrozen)
      break;
  }
  errno = EAGAIN;
  return -1;
}

Error Client::silence() const {
  if (refused_) return *refused_;
  const std::string name = "Process " + std::to_string(watch_.pid() ? watch_.pid() : pid_);
  switch (last_sign_) {
    case PeerWatch::Sign::kStopped:
      return user_error(ETIMEDOUT, name +
                                       " does not answer: it is stopped, by a signal or a "
                                       "debugger.");
    case PeerWatch::Sign::kFrozen:
      return user_error(ETIMEDOUT, name +
                                       " does not answer: it is frozen (its control group; docker "
                                       "pause does this).");
    case PeerWatch::Sign::kStill:
      return user_error(ETIMEDOUT, name + " does not answer (stopped?): nothing in it runs.");
    case PeerWatch::Sign::kLife:
      break;
  }
  return user_error(ETIMEDOUT, name + (until_ms_ ? " has not answered in time, though it runs."
                                                 : " has not answered for 60 seconds, though it "
                                                   "runs."));
}

// Waits for a process that is stopped for a moment, as a debugger does it.
bool Client::goes_on() {
  if (!watch_.is_held()) return true;
  const int most = answers() ? kStoppedLooks : 1;
  const int64_t begin_ms = monotonic_ms();
  for (int looks = 0; looks < most && !is_too_long(begin_ms); looks++) {
    const uint64_t begin_ns = monotonic_ns();
    last_sign_ = watch_.look();
    const bool is_frozen = last_sign_ == PeerWatch::Sign::kFrozen;
    if (!is_frozen && last_sign_ != PeerWatch::Sign::kStopped) return true;
    if (is_frozen && is_told_to_end()) break;
    (void)::poll(nullptr, 0, kStoppedLookMs);
    if (is_told_to_end() && use_up(false, begin_ns)) break;
  }
  return false;
}

// Before a call: takes the answer that is owed for the one before.
Status Client::settle() {
  if (refused_) return *refused_;
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
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))];
  msghdr in{};
  in.msg_iov = &part;
  in.msg_iovlen = 1;
  in.msg_control = control;
  int eager = kEagerTries;
  const ssize_t size = wait_for([&](int flags) {
    in.msg_controllen = sizeof control;
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
  if (const int sender = sender_of(&in); sender != peer_) {
    refused_ =
        user_error(EPERM, "Process " + std::to_string(sender) + " answers in the name of process " +
                              std::to_string(pid_) + ": it is not believed.");
    return *refused_;
  }
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

// What comes in many messages: it comes to an end.
class Client::Parts {
 public:
  Parts(Client* client, std::string_view path, Most most)
      : client_(client), path_(path), most_(most), begin_ms_(monotonic_ms()) {}

  // Before the next one is asked for. `part`: what has come.
  Status take(std::string_view part) {
    bytes_ += part.size();
    lines_ += size_t(std::count(part.begin(), part.end(), '\n'));
    if (bytes_ > most_.bytes || lines_ > most_.lines)
      return user_error(EFBIG,
                        whose() + " gives more than " +
                            (lines_ > most_.lines ? std::to_string(most_.lines) + " lines"
                                                  : std::to_string(most_.bytes >> 20) + " MB") +
                            " for " + path_ + ": that is not read.");
    if (client_->is_too_long(begin_ms_))
      return user_error(ETIMEDOUT, whose() + " does not come to the end of " + path_ + ".");
    const uint64_t began_ns = std::exchange(began_ns_, monotonic_ns());
    if (is_told_to_end() && client_->use_up(part.size() >= kSmallPart, began_ns))
      return *client_->refused_;
    return {};
  }

  size_t bytes() const { return bytes_; }

 private:
  std::string whose() const { return "Process " + std::to_string(client_->pid_); }

  Client* client_;
  const std::string path_;
  const Most most_;
  const int64_t begin_ms_;
  uint64_t began_ns_ = monotonic_ns();
  size_t bytes_ = 0, lines_ = 0;
};

Result<std::vector<std::string>> Client::list(std::string_view path) {
  std::vector<std::string> names;
  Parts parts(this, path, {kMostNameBytes, kMostNames});
  for (;;) {
    Request request{};
    request.call = uint32_t(Call::kList);
    request.value = names.size();
    PB_ASSIGN(Answer answer, call(request, path));
    if (answer.text.empty()) return names;
    PB_TRY(parts.take(answer.text));
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
    const bool stopped = is_silent(text.error()) && (last_sign_ == PeerWatch::Sign::kStopped ||
                                                     last_sign_ == PeerWatch::Sign::kFrozen);
    if (text.error().errno_value != EAGAIN && !stopped) return text;
    if ((stop && stop()) || is_told_to_end()) return sys_error("read", EINTR);
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

// Kept in pieces until it is whole: a text that grows is there twice.
Result<std::string> Client::read_all(std::string_view path, Most most) {
  PB_ASSIGN(uint32_t handle, open(path, O_RDONLY));
  std::vector<std::string> pieces;
  Parts parts(this, path, most);
  for (;;) {
    Result<std::string> part = read(handle, kMaxMessage);
    if (!part.ok() && part.error().errno_value == EAGAIN) break;
    if (part.ok() && part->empty()) break;
    const Status taken = part.ok() ? parts.take(*part) : Status(part.error());
    if (!taken.ok()) {
      (void)close(handle);
      return taken.error();
    }
    const bool is_new = pieces.empty() || pieces.back().size() + part->size() > kMaxMessage;
    if (is_new)
      pieces.push_back(std::move(*part));
    else
      pieces.back() += *part;
  }
  PB_TRY(close(handle));
  std::string text;
  text.reserve(parts.bytes());
  for (std::string& piece : pieces) text += std::exchange(piece, "");
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
  const int off = 0;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
  return std::move(fd_);
}

Status Client::resume() { return done(call(Call::kResume, 0, 0)); }

}  // namespace patchbay::serve
