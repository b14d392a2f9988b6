// SPDX-License-Identifier: MIT
//
// The web server of commands: `view` (cmd/view/loopback_server.h) and `serve`.
//
//   HTTP is libmicrohttpd's, which is loaded when a server starts: it brings ten libraries along
//   that no other command needs.
//
//   what is bounded       by
//   connections           WebSettings.connections; more wait for one to end
//   a request's head      32 KB (the library's)       its body     most_body: 413
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
  unsigned connections = 32, idle_seconds = 30, busy_seconds = 60;
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
  // Answers what comes within that time. With threads: looks after slow clients, and returns soon.
  void run(int most_ms);

  // What the library calls. For this class alone.
  int take(void* connection, std::string_view url, std::string_view method, const char* piece,
           size_t* size, void** state);
  void note(int descriptor, bool is_open);

 private:
  struct Request;
  WebServer(WebSettings settings, Answer answer)
      : settings_(std::move(settings)), answer_(std::move(answer)) {}
  int send(void* connection, HttpAnswer answer);

  WebSettings settings_;
  const Answer answer_;
  MHD_Daemon* daemon_ = nullptr;
  std::mutex lock_;
  std::map<int, int64_t> busy_since_ms_;  // by descriptor
};

// 32 hexadecimal digits; empty: the kernel has no random bits.
std::string random_token();
// The time does not tell how much of it is right.
bool is_same_secret(std::string_view given, std::string_view secret);

}  // namespace patchbay::cmd
