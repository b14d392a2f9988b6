// SPDX-License-Identifier: MIT
//
// The FUSE file system that shows the tracefs of one process, or of all that have an agent, each in
// a directory named by its id. It forwards every call over the socket and decides nothing itself.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "mount_nodes.h"

namespace patchbay::cmd {

struct MountOptions {
  std::string directory;  // where to mount
  int pid = 0;            // 0: all processes
  MountOwner owner;
};

class FuseMount {
 public:
  // Checks the directory and the process and mounts. From here on the kernel holds requests back
  // until serve() runs; a fork in between is allowed.
  static Result<std::unique_ptr<FuseMount>> create(const MountOptions& options);
  ~FuseMount();  // unmounts
  // Serves until the file system is unmounted, or SIGINT, SIGTERM or SIGHUP asks to.
  Status serve();

  struct Impl;

 private:
  explicit FuseMount(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay::cmd
