// SPDX-License-Identifier: MIT
#include "serve/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/monotonic_clock.h"
#include "serve/directory.h"
#include "serve/peer.h"

namespace patchbay::serve {
namespace {

constexpr int kLookMs = 1000;

// One message and, in its control data, at most one descriptor. False: the client does not take it,
// and is dropped rather than waited for.
bool send_reply(int fd, const SessionReply& reply) {
  iovec part{const_cast<char*>(reply.message.data()), reply.message.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (reply.descriptor.valid()) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    int passed = reply.descriptor.get();
    std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  }
  return ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == ssize_t(reply.message.size());
}

}  // namespace

Server::Server(tracefs::Directory& root, ServerOptions options)
    : root_(root),
      options_(std::move(options)),
      input_(kMaxMessage),
      owner_pid_(::getpid()),
      owner_uid_(::geteuid()) {}

Server::~Server() {
  drop_if([](const Connection&) { return true; });
  remove_socket();
}

std::unique_lock<std::recursive_mutex> Server::hold() {
  return options_.lock ? std::unique_lock(*options_.lock)
                       : std::unique_lock<std::recursive_mutex>();
}

// Closes the files of the connections that go.
void Server::drop_if(const std::function<bool(const Connection&)>& unwanted) {
  if (std::none_of(connections_.begin(), connections_.end(), unwanted)) return;
  std::unique_lock<std::recursive_mutex> held = hold();
  std::erase_if(connections_, unwanted);
}

Result<std::unique_ptr<Server>> Server::create(tracefs::Directory& root, ServerOptions options) {
  std::unique_ptr<Server> server(new Server(root, std::move(options)));
  PB_TRY(server->listen());
  return server;
}

Status Server::listen() {
  if (options_.directory.empty()) return {};
  PB_ASSIGN(UniqueFd fd, listen_socket(options_.directory));
  listener_ = OwnedFd(std::move(fd));
  return {};
}

void Server::remove_socket() {
  if (options_.directory.empty() || ::getpid() != owner_pid_) return;
  ::unlink((options_.directory + "/" + kSocketName).c_str());
}

bool Server::wake() {
  // Closing the connection at once is enough: the listener becomes readable.
  return !options_.directory.empty() && connect_socket(options_.directory).ok();
}

// Calls periodic when its time has come, or, while it wants no time, after everything that
// happened. Returns the milliseconds until the next call, -1: no time is wanted.
int Server::run_periodic() {
  if (!options_.periodic) return -1;
  int64_t now = monotonic_ms();
  if (periodic_due_ms_ >= 0 && now < periodic_due_ms_) return int(periodic_due_ms_ - now);
  int delay = 1000;  // no memory now: again in a second
  try {
    delay = options_.periodic();
  } catch (const std::exception&) {
  }
  periodic_due_ms_ = delay < 0 ? -1 : now + delay;
  return delay;
}

int Server::poll_and_glance(pollfd* polled, size_t count, int timeout_ms) {
  if (!options_.glance) return ::poll(polled, count, timeout_ms);
  for (;;) {
    options_.glance();
    const bool last = timeout_ms >= 0 && timeout_ms <= options_.glance_ms;
    const int ready = ::poll(polled, count, last ? timeout_ms : options_.glance_ms);
    if (ready != 0 || last || stop_.load(std::memory_order_acquire)) return ready;
    if (timeout_ms > 0) timeout_ms -= options_.glance_ms;
  }
}

// Where others may ask too there are two things to wait for and one thread: it waits for clients
// for a moment when they have just been there, else for the others, for a moment each time.
int Server::wait_for_clients(pollfd* polled, size_t count, int timeout_ms) {
  constexpr int kMomentMs = 2;
  if (!options_.asks || !options_.asks()) return poll_and_glance(polled, count, timeout_ms);
  const int moment = timeout_ms < 0 ? kMomentMs : std::min(timeout_ms, kMomentMs);
  const int ready = poll_and_glance(polled, count, clients_were_ready_ ? moment : 0);
  const int error = errno;
  clients_were_ready_ = ready > 0;
  options_.answer(ready == 0 ? moment : 0);
  errno = error;
  return ready;
}

Status Server::run() {
  while (!stop_.load(std::memory_order_acquire)) {
    int timeout_ms = run_periodic();
    if (timeout_ms < 0 && options_.directory.empty()) timeout_ms = kLookMs;  // nobody can wake us
    // A descriptor that the program has closed or replaced is dropped unread.
    drop_if([](const Connection& c) { return !c.fd.still_ours(); });
    if (!listener_.still_ours()) PB_TRY(listen());
    pollfd polled[1 + kMaxClients] = {{listener_.get(), POLLIN, 0}};
    size_t count = 1;
    for (const Connection& c : connections_) polled[count++] = {c.fd.get(), POLLIN, 0};
    int ready = wait_for_clients(polled, count, timeout_ms);
    if (ready < 0 && errno != EINTR && errno != EAGAIN) return sys_error("poll", errno);
    if (ready <= 0) continue;
    for (size_t i = count; i-- > 1;) {
      if (polled[i].revents == 0 || serve_client(connections_[i - 1])) continue;
      const Session* gone = connections_[i - 1].session.get();
      drop_if([gone](const Connection& c) { return c.session.get() == gone; });
    }
    if (polled[0].revents != 0) accept_client();
  }
  return {};
}

void Server::pause_accept() {
  constexpr timespec kPause = {0, 20'000'000};
  ::nanosleep(&kPause, nullptr);
}

// Every connection that waits is accepted, so that a stranger cannot fill the queue. One that is
// not allowed is closed at once.
void Server::accept_client() {
  periodic_due_ms_ = -1;  // it may be wake()
  while (listener_.still_ours()) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      // It stays ready, and there is a descriptor when another client has gone.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) pause_accept();
      return;
    }
    const bool is_allowed =
        peer_is_allowed(fd.get(), owner_uid_, options_.directory + "/" + kSocketName);
    if (connections_.size() >= kMaxClients || !is_allowed) continue;
    try {
      connections_.push_back(
          {OwnedFd(std::move(fd)), std::make_unique<Session>(root_, options_.hooks)});
    } catch (const std::exception&) {
      return;
    }
  }
}

bool Server::serve_client(Connection& connection) {
  if (!connection.fd.still_ours()) return false;
  ssize_t size =
      ::recv(connection.fd.get(), input_.data(), input_.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0 || size_t(size) > input_.size())
    return false;  // the end; or more than a message may have
  Request request = {};
  std::memcpy(&request, input_.data(), std::min(size_t(size), sizeof request));
  if (Call(request.call) == Call::kDetach) return detach(connection);
  SessionReply reply;
  {
    std::unique_lock<std::recursive_mutex> held = hold();
    reply = connection.session->handle(std::string_view(input_.data(), size_t(size)));
    if (options_.acted) options_.acted();
  }
  if (options_.served) options_.served();
  return !reply.message.empty() && connection.fd.still_ours() &&
         send_reply(connection.fd.get(), reply);
}

// Whoever else is connected still works with the agent. A connection whose other end has gone only
// waits to be dropped.
Status Server::may_detach(const Connection& asking) {
  if (!options_.detach)
    return user_error(EINVAL, "This program was started with the agent, which stays with it.");
  for (const Connection& other : connections_) {
    pollfd polled = {other.fd.get(), POLLIN, 0};
    char byte;
    const bool is_over = other.fd.still_ours() && ::poll(&polled, 1, 0) == 1 &&
                         ::recv(other.fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    if (&other != &asking && !is_over)
      return user_error(EBUSY, "Another command works with this process.");
  }
  return {};
}

// False: the connection is to be dropped here, having been handed over or lost.
bool Server::detach(Connection& connection) {
  Status status = may_detach(connection);
  if (status.ok()) {
    std::unique_lock<std::recursive_mutex> held = hold();
    try {
      status = options_.detach();
      // What is in use was another client's, who has gone: the asking one is the last.
      if (!status.ok() && status.error().errno_value == EBUSY)
        status = user_error(EAGAIN, status.error().message());
    } catch (const std::exception&) {
      status = sys_error("detach", ENOMEM);
    }
  }
  SessionReply reply;
  const Reply answer{status.ok() ? 0 : status.error().errno_value, 0, 0};
  reply.message.assign(reinterpret_cast<const char*>(&answer), sizeof answer);
  if (!status.ok()) reply.message += status.error().message();
  if (!send_reply(connection.fd.get(), reply)) return false;
  if (!status.ok()) return true;
  handed_over_.reset(::fcntl(connection.fd.get(), F_DUPFD_CLOEXEC, 3));
  if (handed_over_.valid()) stop();
  return false;
}

}  // namespace patchbay::serve
