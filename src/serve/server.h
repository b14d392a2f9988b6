// SPDX-License-Identifier: MIT
//
// The agent's end of the socket (protocol.h): a poll loop over one listening socket and a few
// clients, run by the agent's control thread. It never blocks on a client, never opens a network
// socket, and lets no exception out.
//
// Descriptors: a program may close all of its own, or count on the lowest number being free. So the
// control thread should first call private_descriptors(), then make the Server: its sockets then
// stand in a table that the program neither sees nor can close. Where that is refused, each
// descriptor is compared with what it was before every use, and a closed listening socket is made
// again.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/session.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

inline constexpr size_t kMaxClients = 128;

// Gives the calling thread an empty descriptor table of its own (0, 1 and 2 are /dev/null). False
// when the system refuses; the thread then still shares the program's table, unchanged.
bool private_descriptors();

// A descriptor together with what it refers to, to notice that the program has closed or replaced
// it.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(UniqueFd fd);
  OwnedFd(OwnedFd&& other) noexcept;
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd();  // closes only what is still ours
  int get() const { return fd_; }
  bool still_ours() const;

 private:
  void close_if_ours();
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct ServerOptions {
  // DIR/PID; the socket is ctl.sock in it. Empty: no socket, run() does everything else.
  std::string directory;
  SessionHooks hooks;
  // Held while a request is served and while a client's files are closed; null: nothing to hold.
  // periodic takes it itself.
  std::recursive_mutex* lock = nullptr;
  // With the lock, after each request and before its answer.
  std::function<void()> acted;
  // Called at the start of run(), when its time has come, and when somebody connects (as wake()
  // does). Returns the milliseconds until the next call; -1: none, but call again after the next
  // request.
  std::function<int()> periodic;
  // Traced threads ask for something too, by other means than the socket. While asks() is true the
  // loop calls answer() before it serves requests, which does what was asked, having slept at most
  // so many milliseconds until something was. Without the lock. Both or none.
  std::function<bool()> asks;
  // Called at least every `glance_ms` milliseconds, whatever else is waited for; cheap. Null:
  // nobody.
  std::function<void()> glance;
  int glance_ms = 1000;
  std::function<void(int)> answer;
  // Called when a request is done, without the lock, before the client is answered. Null: nothing.
  std::function<void()> served;
};

class Server {
 public:
  // Makes the socket (0600). An old ctl.sock in the directory is replaced.
  static Result<std::unique_ptr<Server>> create(tracefs::Directory& root, ServerOptions options);
  ~Server();

  // Serves until stop() is called. Returns an error when the socket is lost and cannot be made
  // again.
  Status run();
  // Ends run(). From a hook, or from another thread together with wake().
  void stop() { stop_.store(true, std::memory_order_release); }
  // From any thread: makes run() look at stop() and call periodic. Connects to the socket for it,
  // so that no descriptor has to be kept for the purpose. False when that was not possible.
  bool wake();
  // Removes the socket's file (the owning process only, not a forked child).
  void remove_socket();

 private:
  struct Connection {
    OwnedFd fd;
    std::unique_ptr<Session> session;
  };
  Server(tracefs::Directory& root, ServerOptions options);
  Status listen();
  void accept_client();
  bool serve_client(Connection& connection);  // false: drop it
  int run_periodic();
  int wait_for_clients(pollfd* polled, size_t count, int timeout_ms);
  int poll_and_glance(pollfd* polled, size_t count, int timeout_ms);
  void drop_if(const std::function<bool(const Connection&)>& unwanted);
  std::unique_lock<std::recursive_mutex> hold();

  tracefs::Directory& root_;
  ServerOptions options_;
  OwnedFd listener_;
  std::vector<Connection> connections_;
  std::vector<char> input_;
  std::atomic<bool> stop_{false};
  bool clients_were_ready_ = false;
  int64_t periodic_due_ms_ = -1;
  pid_t owner_pid_ = 0;
  uid_t owner_uid_ = 0;
};

}  // namespace patchbay::serve
