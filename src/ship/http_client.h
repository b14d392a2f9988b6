// SPDX-License-Identifier: MIT
//
// HTTP requests, through libcurl, which is loaded when the first client is made: no other command
// needs it and the thirty libraries it brings along.
//
// Nothing is followed anywhere (no redirects), so what the headers say goes to the address that was
// given and to nobody else. One thread at a time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

struct HttpReply {
  long status = 0;
  std::string body;  // no more than HttpClient::kMostBody bytes
};

class HttpClient {
 public:
  static constexpr size_t kMostBody = 1 << 20;
  // ENOPKG: the library is not installed.
  static Result<std::unique_ptr<HttpClient>> make();
  ~HttpClient();

  struct Request {
    std::string url;
    std::vector<std::string> headers;         // "Name: value"
    std::string_view body;                    // is posted
    long seconds = 60;                        // for all of it
    const std::atomic<bool>* stop = nullptr;  // ends it with EINTR
  };
  // ECONNREFUSED: the server was not reached, and has seen nothing of it. EINTR: `stop`. EIO with a
  // sentence: no whole answer came, so what became of the request is not known.
  Result<HttpReply> post(const Request& request);
  // For a URL: bytes that are no plain ones as %XX.
  static std::string escape(std::string_view text);

 private:
  HttpClient() = default;
  void* handle_ = nullptr;
};

}  // namespace patchbay
