// SPDX-License-Identifier: MIT
//
// What a running `patchbay serve` says of itself, for `patchbay status`: the file DIR/serve.json,
// 0600, which is locked while it runs, and goes with it. One daemon a runtime directory.
//
//   {"pid": 12, "url": "http://127.0.0.1:9797/metrics", "token_file": "…", "conf": "…", "rules": 2,
//    "agents": 3, …}
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {

class DaemonState {
 public:
  // EBUSY: another one runs, whose file is left alone.
  static Result<std::unique_ptr<DaemonState>> hold(const std::string& runtime);
  ~DaemonState();
  DaemonState(const DaemonState&) = delete;
  void write(const std::string& json) const;

 private:
  DaemonState(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  const std::string path_;
  const UniqueFd fd_;
};

// What the daemon of a runtime directory has said, as one line of JSON; empty: none runs.
std::string daemon_state(const std::string& runtime);

}  // namespace patchbay::cmd
