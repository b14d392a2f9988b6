// SPDX-License-Identifier: MIT
#include "cmd/mount/mount_nodes.h"

#include <time.h>

#include <algorithm>

namespace patchbay::cmd {
namespace {

constexpr off_t kPagesFileSize = 1'000'000'000'000;  // splice(2) stops at a file's size

timespec time_now() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

}  // namespace

const MountNode* MountNodes::find(uint64_t inode) const {
  auto found = nodes_.find(inode);
  return found == nodes_.end() ? nullptr : &found->second.node;
}

uint64_t MountNodes::refer(MountNode node) {
  bool own_number = is_pages_file(node.path);
  uint64_t number = next_;
  if (!own_number) {
    number = by_path_.try_emplace(Key(node.target.get(), node.path), next_).first->second;
  }
  if (number == next_) next_++;
  Entry& entry = nodes_[number];
  entry.node = std::move(node);
  entry.references++;
  return number;
}

void MountNodes::forget(uint64_t inode, uint64_t count) {
  auto found = nodes_.find(inode);
  if (inode == 1 || found == nodes_.end()) return;
  Entry& entry = found->second;
  entry.references -= std::min(count, entry.references);
  if (entry.references != 0) return;
  auto named = by_path_.find(Key(entry.node.target.get(), entry.node.path));
  if (named != by_path_.end() && named->second == inode) by_path_.erase(named);
  nodes_.erase(found);
}

void MountNodes::removed(const MountNode& directory) {
  std::erase_if(by_path_, [&](const auto& entry) {
    const auto& [target, path] = entry.first;
    return target == directory.target.get() &&
           path.compare(0, directory.path.size(), directory.path) == 0 &&
           (path.size() == directory.path.size() || path[directory.path.size()] == '/');
  });
}

MountAttributes::MountAttributes(const MountOwner& owner) : owner_(owner), mounted_(time_now()) {}

MountAttributes::Key MountAttributes::key_of(const MountNode& node) {
  return {node.target ? node.target->pid() : 0, node.path};
}

gid_t MountAttributes::group(const Key& key) const {
  auto own = changes_.find(key);
  if (own != changes_.end() && own->second.gid) return *own->second.gid;
  for (std::string path = key.second; !path.empty();) {
    if (auto above = inherited_.find({key.first, path}); above != inherited_.end())
      return above->second;
    size_t slash = path.rfind('/');
    path.resize(slash == path.npos ? 0 : slash);
  }
  return owner_.gid;
}

struct stat MountAttributes::attributes(uint64_t inode, const MountNode& node) const {
  struct stat result {};
  Key key = key_of(node);
  bool is_root = node.path.empty();
  result.st_ino = inode;
  result.st_mode = node.mode;
  if (is_root) result.st_mode = S_IFDIR | owner_.root_mode.value_or(0700);
  result.st_nlink = 1;
  result.st_size = is_pages_file(node.path) ? kPagesFileSize : off_t(node.size);
  result.st_blksize = 4096;
  result.st_uid = owner_.uid;
  result.st_gid = group(key);
  result.st_atim = result.st_mtim = result.st_ctim = mounted_;
  auto found = changes_.find(key);
  if (found == changes_.end()) return result;
  const Changes& changes = found->second;
  if (changes.mode) result.st_mode = (result.st_mode & S_IFMT) | *changes.mode;
  result.st_uid = changes.uid.value_or(result.st_uid);
  result.st_atim = changes.accessed.value_or(result.st_atim);
  result.st_mtim = changes.modified.value_or(result.st_mtim);
  return result;
}

void MountAttributes::set(const MountNode& node, const struct stat& to, int which) {
  Changes& changes = changes_[key_of(node)];
  if (which & FUSE_SET_ATTR_MODE) changes.mode = to.st_mode & 07777;
  if (which & FUSE_SET_ATTR_UID) changes.uid = to.st_uid;
  if (which & FUSE_SET_ATTR_GID) changes.gid = to.st_gid;
  if (which & FUSE_SET_ATTR_ATIME) changes.accessed = to.st_atim;
  if (which & FUSE_SET_ATTR_ATIME_NOW) changes.accessed = time_now();
  if (which & FUSE_SET_ATTR_MTIME) changes.modified = to.st_mtim;
  if (which & FUSE_SET_ATTR_MTIME_NOW) changes.modified = time_now();
}

void MountAttributes::made(const MountNode& above, const MountNode& made) {
  gid_t gid = group(key_of(above));
  if (gid != owner_.gid) inherited_[key_of(made)] = gid;
}

void MountAttributes::removed(const MountNode& node) {
  Key first = key_of(node);
  auto inside = [&](const Key& key) {
    return key.first == first.first &&
           key.second.compare(0, first.second.size(), first.second) == 0 &&
           (key.second.size() == first.second.size() || key.second[first.second.size()] == '/');
  };
  std::erase_if(changes_, [&](const auto& entry) { return inside(entry.first); });
  std::erase_if(inherited_, [&](const auto& entry) { return inside(entry.first); });
}

}  // namespace patchbay::cmd
