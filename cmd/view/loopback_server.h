// SPDX-License-Identifier: MIT
//
// A web server for the browser of the person who started the command, and for nobody else:
//
//   it listens on 127.0.0.1 only, on a port of the kernel's choice where none is given
//   every address begins with a token of 128 random bits; any other address is 404 Not Found
//   Host has to be 127.0.0.1:PORT or localhost:PORT, so that no name of a foreign page leads here
//   GET and HEAD only; nothing may be kept by the browser
//
// One thread, which calls run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cmd/common/web_server.h"

namespace patchbay::cmd {

class LoopbackServer {
 public:
  // Answers an address below the token: "/", "/live".
  using Answer = std::function<HttpAnswer(std::string_view path)>;

  // As WebServer::start().
  static Result<std::unique_ptr<LoopbackServer>> start(uint16_t port, Answer answer);
  LoopbackServer(const LoopbackServer&) = delete;

  const std::string& url() const { return url_; }   // with the token and a slash behind it
  void run(int most_ms) { server_->run(most_ms); }  // answers what comes within that time

 private:
  LoopbackServer(Answer answer, std::string token)
      : answer_(std::move(answer)), token_(std::move(token)) {}
  HttpAnswer answer(const HttpRequest& request) const;

  const Answer answer_;
  const std::string token_;
  std::string url_, hosts_[2];
  std::unique_ptr<WebServer> server_;  // it ends first
};

}  // namespace patchbay::cmd
