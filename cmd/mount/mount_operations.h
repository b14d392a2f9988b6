// SPDX-License-Identifier: MIT
// What the mount does for each FUSE request; the session itself is mount_fuse.cc.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "cmd/mount/mount_all.h"
#include "cmd/mount/mount_nodes.h"
#include "cmd/mount/mount_processes.h"

namespace patchbay::cmd {

class MountOperations {
 public:
  enum class All { kNo, kYes, kYesAndSays };
  // `target`: the only process; null: all that have an agent. `all`: with the directory of all
  // processes, and whether what goes wrong for one that comes is said on stderr.
  MountOperations(std::shared_ptr<MountTarget> target, const MountOwner& owner, All all = All::kNo);
  // For fuse_session_new(), with this object as user data.
  static const fuse_lowlevel_ops& table();
  void start();  // before the loop, in the process that runs it
  // Answers everything that waits: after the loop has ended.
  void shut_down();

 private:
  struct Entry;  // the requests' functions, in the order of fuse_lowlevel_ops
  static MountOperations& of(fuse_req_t request);
  bool node(fuse_req_t request, fuse_ino_t inode, MountNode* out);
  void reply_entry(serve::Client* client, fuse_req_t request, MountNode node);
  void reply_attributes(fuse_req_t request, fuse_ino_t inode, const MountNode& node);
  void reply_node(fuse_req_t request, MountNode node,
                  const Result<serve::Client::FileStatus>& status);
  // What is in the directory `all`, whose nodes have no target.
  bool is_in_all(const MountNode& node) const { return all_ && !node.target && !node.path.empty(); }
  void forget_directory(const MountNode& directory);
  void reply_opened(fuse_req_t request, fuse_file_info info, std::shared_ptr<OpenFile> file);

  std::mutex mutex_;  // guards nodes_ and attributes_
  MountNodes nodes_;
  MountAttributes attributes_;
  std::shared_ptr<MountTarget> only_;
  MountProcesses processes_;
  std::unique_ptr<MountAll> all_;
};

}  // namespace patchbay::cmd
