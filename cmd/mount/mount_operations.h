// SPDX-License-Identifier: MIT
// What the mount does for each FUSE request; the session itself is mount_fuse.cc.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "cmd/mount/mount_nodes.h"

namespace patchbay::cmd {

class MountOperations {
 public:
  // `target`: the only process; null: all that have an agent.
  MountOperations(std::shared_ptr<MountTarget> target, const MountOwner& owner);
  // For fuse_session_new(), with this object as user data.
  static const fuse_lowlevel_ops& table();
  // Answers everything that waits: after the loop has ended.
  void shut_down();

 private:
  struct Entry;  // the requests' functions, in the order of fuse_lowlevel_ops
  static MountOperations& of(fuse_req_t request);
  bool node(fuse_req_t request, fuse_ino_t inode, MountNode* out);
  void reply_entry(serve::Client* client, fuse_req_t request, MountNode node);
  void reply_attributes(fuse_req_t request, fuse_ino_t inode, const MountNode& node);
  std::shared_ptr<MountTarget> find_process(int pid);
  std::vector<std::string> list_processes();
  void drop_gone_targets();

  std::mutex mutex_;  // guards nodes_ and attributes_
  MountNodes nodes_;
  MountAttributes attributes_;
  // Kept until the loop's thread drops them: a target must not end inside its own thread.
  std::vector<std::shared_ptr<MountTarget>> targets_;
};

}  // namespace patchbay::cmd
