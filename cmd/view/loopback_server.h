// SPDX-License-Identifier: MIT
//
// A web server for the browser of the person who started the command, and for nobody else:
//
//   it listens on 127.0.0.1 only, on a port of the kernel's choice where none is given
//   every address begins with a token of 128 random bits; any other address is 404 Not Found
//   Host has to be 127.0.0.1:PORT or localhost:PORT, so that no name of a foreign page leads here
//   GET and HEAD only; nothing may be kept by the browser
//
// HTTP is libmicrohttpd's, which is loaded when a server starts: it brings ten libraries along that
// no other command needs. One thread, which calls run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct MHD_Daemon;

namespace patchbay::cmd {

struct HttpAnswer {
  unsigned status = 200;
  const char* type = "text/plain; charset=utf-8";
  std::string body;
};

class LoopbackServer {
 public:
  // Answers an address below the token: "/", "/live".
  using Answer = std::function<HttpAnswer(std::string_view path)>;

  // ENOPKG: the library is not installed. EADDRINUSE, EACCES: of the port.
  static Result<std::unique_ptr<LoopbackServer>> start(uint16_t port, Answer answer);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;

  const std::string& url() const { return url_; }  // with the token and a slash behind it
  void run(int most_ms);                           // answers what comes within that time

  // What the library calls: one request. For this class alone.
  int answer(void* connection, std::string_view path, std::string_view method);

 private:
  LoopbackServer(Answer answer, std::string token)
      : answer_(std::move(answer)), token_(std::move(token)) {}

  const Answer answer_;
  const std::string token_;
  std::string url_, hosts_[2];
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace patchbay::cmd
