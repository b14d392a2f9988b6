// SPDX-License-Identifier: MIT
//
// The FUSE file system that shows the tracefs of one process, or of all that have an agent, each in
// a directory named by its id. It forwards every call over the socket and decides nothing itself.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cmd/mount/mount_nodes.h"

namespace patchbay::cmd {

struct MountOptions {
  std::string directory;  // where to mount
  int pid = 0;            // 0: all processes
  bool all = false;       // with the directory of all processes
  bool all_says = false;  // what goes wrong for one that comes is said on stderr
  MountOwner owner;
  bool over_files = false;  // the directory may have something in it, which the mount hides
};

// The signals that end a mount, as a descriptor for serve(). Blocks them in this thread and those
// that it makes.
UniqueFd stop_signals();

class FuseMount {
 public:
  // Checks the directory and the process and mounts. From here on the kernel holds requests back
  // until serve() runs; a fork in between is allowed.
  static Result<std::unique_ptr<FuseMount>> create(const MountOptions& options);
  ~FuseMount();  // unmounts
  // Serves until the file system is unmounted, or `stop_fd` becomes readable.
  Status serve(int stop_fd);

  struct Impl;

 private:
  explicit FuseMount(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay::cmd
