// SPDX-License-Identifier: MIT
//
// The agent's end of the socket (protocol.h): a poll loop over one listening socket and a few
// clients, run by the agent's control thread. It never blocks on a client, never opens a network
// socket, and lets no exception out.
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
#include "serve/own_descriptors.h"
#include "serve/session.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

inline constexpr size_t kMaxClients = 128;

struct ServerOptions {
  // DIR/PID; the socket is ctl.sock in it. Empty: no socket, run() does everything else.
  std::string directory;
  SessionHooks hooks;
  // The loop holds it while it serves a request and while it closes a client's files; null: there
  // is nothing to hold. periodic takes it itself.
  std::recursive_mutex* lock = nullptr;
  // Called with the lock, after each request and before its answer.
  std::function<void()> acted;
  // Called at the start of run(), when its time has come, and when a client connects (as wake()
  // does). Returns the milliseconds until the next call; -1: none, but call again after the next
  // request.
  std::function<int()> periodic;
  // Traced threads ask for something too, by other means than the socket. While asks() is true the
  // loop calls answer(milliseconds) before it serves requests. answer() sleeps at most so long
  // until something is asked, and does it. Both are called without the lock; both or none are set.
  std::function<bool()> asks;
  std::function<void(int)> answer;
  // Called at least every `glance_ms` milliseconds, whatever the loop waits for; cheap. May be
  // empty.
  std::function<void()> glance;
  int glance_ms = 1000;
  // Called when a request is done, without the lock, before the client is answered. Null: nothing.
  std::function<void()> served;
  // For kDetach, with the lock: what the agent does before it goes. Null: it stays.
  std::function<Status()> detach;
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
  void go_on() { stop_.store(false, std::memory_order_release); }  // run() may be called again
  // The connection over which kDetach came, for what follows it; run() has ended for it. Once.
  UniqueFd take_handed_over() { return std::move(handed_over_); }
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
  static void pause_accept();
  bool serve_client(Connection& connection);  // false: drop it
  bool detach(Connection& connection);
  Status may_detach(const Connection& asking);
  int run_periodic();
  int wait_for_clients(pollfd* polled, size_t count, int timeout_ms);
  int poll_and_glance(pollfd* polled, size_t count, int timeout_ms);
  void drop_if(const std::function<bool(const Connection&)>& unwanted);
  std::unique_lock<std::recursive_mutex> hold();

  tracefs::Directory& root_;
  ServerOptions options_;
  OwnedFd listener_;
  UniqueFd handed_over_;
  std::vector<Connection> connections_;
  std::vector<char> input_;
  std::atomic<bool> stop_{false};
  bool clients_were_ready_ = false;
  int64_t periodic_due_ms_ = -1;
  pid_t owner_pid_ = 0;
  uid_t owner_uid_ = 0;
};

}  // namespace patchbay::serve
