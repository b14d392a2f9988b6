// SPDX-License-Identifier: MIT
//
// The token that `patchbay serve` makes where none is given: 128 random bits in DIR/serve.token,
// which its own user alone reads. It goes with the daemon.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace patchbay::cmd {

class MadeToken {
 public:
  // For the daemon that holds the runtime directory (daemon_state.h): what another one has left is
  // replaced.
  static Result<std::unique_ptr<MadeToken>> make(const std::string& runtime);
  ~MadeToken();
  MadeToken(const MadeToken&) = delete;
  const std::string& text() const { return text_; }
  const std::string& path() const { return path_; }

 private:
  MadeToken(std::string text, std::string path) : text_(std::move(text)), path_(std::move(path)) {}
  const std::string text_, path_;
};

}  // namespace patchbay::cmd
