// SPDX-License-Identifier: MIT
//
// How much memory a process may still take. Where a control group is full the kernel kills a
// process of it, so whoever takes memory for a tracer looks first.
//
//   /sys/fs/cgroup/a     memory.max 50 MB, 45 MB in use                             5 MB left: this
//   /sys/fs/cgroup/a/b   memory.max 64 MB, 40 MB in use, of which 8 MB are files   32 MB left
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay {

struct CgroupMount {
  std::string root, point;  // the group that is mounted, and where
  bool is_second = false;   // version 2: all controllers in one tree
  bool has_memory = false;  // version 1: this is the tree of the controller of memory
};
// In the text of a mountinfo; those of version 2 first.
std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo);

struct MemoryRoom {
  std::string group;   // its directory
  uint64_t limit = 0;  // bytes
  uint64_t left = 0;   // what is free, and what the kernel takes back from files without harm
};
// The tightest of the groups that `cgroups`, the text of a /proc/PID/cgroup, names, and of those
// above them, as far as they are seen from here. Nothing: none has a limit.
std::optional<MemoryRoom> memory_room(std::string_view cgroups,
                                      const std::vector<CgroupMount>& mounts);
// Of process `pid`; 0: of this one.
std::optional<MemoryRoom> memory_room_of(int pid);

// How many processes the kernel has killed in a group because it was full.
class KilledInGroup {
 public:
  explicit KilledInGroup(int pid);
  // Since this object was made; "": none, or it is not known. Else the group.
  std::string group() const;

 private:
  uint64_t count() const;

  std::string group_, file_;  // which has the count
  uint64_t before_ = 0;
};

// ENOMEM, with a sentence, where `bytes` more do not fit into the room. `what` needs them: "the
// buffer"; `advice` says what to do about it.
Status check_memory_room(const std::optional<MemoryRoom>& room, uint64_t bytes,
                         std::string_view what, std::string_view advice);

}  // namespace patchbay
