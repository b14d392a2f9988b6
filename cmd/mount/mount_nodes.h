// SPDX-License-Identifier: MIT
//
// What a mount knows by itself: the inode numbers that the kernel holds, and what chmod, chown and
// utimes have said about paths (the agent keeps no such thing).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "cmd/mount/mount_target.h"

namespace patchbay::cmd {

struct MountNode {
  std::shared_ptr<MountTarget> target;  // null: the root of a mount of all processes
  std::string path;                     // below the target's root
  uint32_t mode = S_IFDIR | 0700;       // as the agent said last
  uint64_t size = 0;
};

class MountNodes {
 public:
  // `root` is inode 1.
  explicit MountNodes(MountNode root) { nodes_.emplace(1, Entry{std::move(root), 1}); }
  // Null when the kernel names an inode that it does not hold.
  const MountNode* find(uint64_t inode) const;
  // Counts one more reference of the kernel. The same path has the same number; a file that is
  // spliced has a new one each time, so that no two open files share pages of the page cache.
  uint64_t refer(MountNode node);
  void forget(uint64_t inode, uint64_t count);
  // A directory is gone (rmdir). The kernel takes its number for dead for ever, so a new directory
  // of that name gets another number, and so does everything in it.
  void removed(const MountNode& directory);

 private:
  struct Entry {
    MountNode node;
    uint64_t references = 0;
  };
  using Key = std::pair<const MountTarget*, std::string>;
  std::unordered_map<uint64_t, Entry> nodes_;
  std::map<Key, uint64_t> by_path_;
  uint64_t next_ = 2;
};

struct MountOwner {
  uid_t uid = 0;
  gid_t gid = 0;
  std::optional<mode_t> root_mode;
};

class MountAttributes {
 public:
  explicit MountAttributes(const MountOwner& owner);
  struct stat attributes(uint64_t inode, const MountNode& node) const;
  // `which`: FUSE_SET_ATTR_*.
  void set(const MountNode& node, const struct stat& to, int which);
  // A new directory and all that is in it belong to the group of the one above.
  void made(const MountNode& above, const MountNode& made);
  void removed(const MountNode& node);

 private:
  struct Changes {
    std::optional<mode_t> mode;
    std::optional<uid_t> uid;
    std::optional<gid_t> gid;
    std::optional<timespec> accessed, modified;
  };
  using Key = std::pair<int, std::string>;  // pid and path
  static Key key_of(const MountNode& node);
  gid_t group(const Key& key) const;

  MountOwner owner_;
  timespec mounted_;
  std::map<Key, Changes> changes_;
  std::map<Key, gid_t> inherited_;  // by directory
};

}  // namespace patchbay::cmd
