// SPDX-License-Identifier: MIT
//
// The web server of commands: `view` (cmd/view/loopback_server.h) and `serve`.
//
//   HTTP is libmicrohttpd's, which is loaded when a server starts: it brings ten libraries along
//   that no other command needs.
//
//   what is bounded       by
//   connections           WebSettings.connections, of one peer three quarters of them: whoever has
//                         the most loses the one that has been quiet for longest, so a newcomer is
//                         served at once, whatever others hold. A peer is a user of this machine
//                         (peer_uid.h), else an address.
//   a request's head      32 KB (the library's), head_seconds       its body     most_body: 413
//   a client that waits, or reads or writes slowly    idle_seconds, and busy_seconds for a request
//   memory of answers     clients share one body
//
// In each answer stand the headers that keep a browser from keeping, guessing, framing or passing
// on what it gets.
//
// Without threads run() answers, on the thread that calls it. With threads each connection has one,
// and the answers are asked for from several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

struct MHD_Daemon;

namespace patchbay::cmd {

struct HttpRequest {
  std::string_view method, path;
  // Of the head; null: it is not there.
  const char *host = nullptr, *accept = nullptr, *authorization = nullptr, *user_agent = nullptr;
  std::string peer;                 // its address, without a port
  std::string_view untrusted_body;  // at most most_body bytes
};

struct HttpAnswer {
  unsigned status = 200;
  const char* type = "text/plain; charset=utf-8";
  std::string body;
  std::shared_ptr<const std::string> shared = nullptr;  // instead of `body`
};

struct WebSettings {
  std::string address = "127.0.0.1";  // of IPv4 or IPv6
  uint16_t port = 0;                  // 0: the kernel's choice
  unsigned connections = 32, head_seconds = 10, idle_seconds = 30, busy_seconds = 60;
  size_t most_body = 0;  // 0: nobody reads it
  bool threads = false;
  std::string certificate, key;  // PEM; empty: no TLS
};

class WebServer {
 public:
  using Answer = std::function<HttpAnswer(const HttpRequest&)>;

  // ENOPKG: the library is not installed, or has no TLS. EADDRINUSE, EACCES: of the port. EINVAL:
  // of the address, or the certificate.
  static Result<std::unique_ptr<WebServer>> start(const WebSettings& settings, Answer answer);
  ~WebServer();
  WebServer(const WebServer&) = delete;

  uint16_t port() const { return settings_.port; }
  // Answers what comes within that time. With threads: waits so long. Looks after slow clients.
  void run(int most_ms);

  // What the library calls. For this class alone.
  int take(void* connection, std::string_view url, std::string_view method, const char* piece,
           size_t* size, void** state);
  void begin(void* connection);
  void end(void* connection);
  void wait_for_next(void* connection);

 private:
  struct Request;
  enum class Phase { kHead, kRequest, kWaits };
  struct Connection {
    std::string peer;
    int64_t since_ms = 0;  // of the phase
    Phase phase = Phase::kHead;
    bool is_dropped = false;  // and will be closed
  };
  WebServer(WebSettings settings, Answer answer)
      : settings_(std::move(settings)), answer_(std::move(answer)) {}
  int send(void* connection, HttpAnswer answer);
  void set_phase(void* connection, Phase phase);
  size_t count(const std::string& peer) const;
  void drop_one_of(const std::string& peer);
  void drop_slow();

  WebSettings settings_;
  const Answer answer_;
  MHD_Daemon* daemon_ = nullptr;
  std::mutex lock_;
  std::map<int, Connection> open_;  // by descriptor
};

// 32 hexadecimal digits; empty: the kernel has no random bits.
std::string random_token();
// The time does not tell how much of it is right.
bool is_same_secret(std::string_view given, std::string_view secret);

}  // namespace patchbay::cmd
