// SPDX-License-Identifier: MIT
//
// One client of the agent: decodes a request, checks it, does it on the tree, and makes the reply.
// It knows no socket, so that tests and the fuzzer can drive it with bytes.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/protocol.h"
#include "tracefs/tree.h"

namespace patchbay::serve {

inline constexpr size_t kMaxHandles = 64;  // per client
inline constexpr size_t kMaxPath = 4096;

struct SessionHooks {
  std::function<void()> resume;                   // kResume
  std::function<Result<UniqueFd>()> open_buffer;  // a descriptor of the buffer file, to be sent
  std::string exe;                                // for kHello; empty: what /proc/self/exe says
};

struct SessionReply {
  std::string message;  // Reply, then its text or bytes; empty: the request was no request, hang up
  UniqueFd descriptor;  // to be passed along
};

class Session {
 public:
  Session(tracefs::Directory& root, const SessionHooks& hooks) : root_(root), hooks_(hooks) {}
  // Never throws; an allocation that fails is answered with ENOMEM.
  SessionReply handle(std::string_view untrusted_message);

 private:
  struct Handle {
    std::unique_ptr<tracefs::File> file;  // null for the buffer
    uint32_t flags = 0;
    std::optional<std::string> snapshot;  // made at the first read
    size_t position = 0;
  };
  struct Answer {
    uint32_t handle = 0;
    uint64_t value = 0;
    std::string text;
    UniqueFd descriptor;
  };
  Result<Answer> dispatch(const Request& request, std::string_view data);
  Result<Answer> hello(const Request& request);
  Result<Answer> open(const Request& request, std::string_view path);
  Result<Answer> open_buffer(uint32_t handle);
  Result<Answer> read(const Request& request);
  Result<Answer> write(const Request& request, std::string_view bytes);
  Result<Answer> close(const Request& request);
  Result<Answer> list(const Request& request, std::string_view path);
  Result<Handle*> find_handle(uint32_t handle);

  tracefs::Directory& root_;
  const SessionHooks& hooks_;
  std::array<std::unique_ptr<Handle>, kMaxHandles> handles_;  // handle number - 1
};

}  // namespace patchbay::serve
