// SPDX-License-Identifier: MIT
//
// DIR/tree-N, by which the programs that a program executes are followed (abi/follow_abi.h): the
// tool's side of what agents say there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "abi/follow_abi.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "cmd/target/follow_log.h"
#include "symbol/follow_wishes.h"

namespace patchbay::cmd {

// DIR/PID of a program, which is DIR/PID.N when the process has executed another one.
struct ProgramDirectory {
  std::string path;  // DIR/PID
  dev_t device = 0;
  ino_t inode = 0;

  // The one that is there now.
  static ProgramDirectory find(const std::string& runtime, pid_t pid);
  void remove() const;
};

class FollowTree {
 public:
  static Result<std::unique_ptr<FollowTree>> make(const std::string& runtime, FollowWishes wishes);
  // Removes it, and the directories of programs that have not come as far as to say anything.
  ~FollowTree();

  const std::string& runtime() const { return runtime_; }
  const std::string& directory() const { return directory_; }  // for PATCHBAY_FOLLOW
  int descriptor() const { return watch_.get(); }              // readable when there is news
  // What has been said since.
  std::vector<FollowSaid> read();
  // Programs that were not followed, but have not found the room to say which they are.
  uint64_t unnamed() const;
  // Something in the log is no whole record, as where a disk was full in the middle of one.
  bool is_damaged() const { return is_damaged_ || !unread_.empty(); }

  // This process alone is followed. It waits for saw() before it executes anything.
  void follow_only(pid_t pid);
  void saw(uint32_t ticket);

  // Who executes something from here on does so without us, and nobody waits for us any more.
  void close();

 private:
  FollowTree() = default;
  abi::FollowSlots* slots() const { return reinterpret_cast<abi::FollowSlots*>(slots_.data()); }
  void read_log(std::vector<FollowSaid>* said);
  void read_slots(std::vector<FollowSaid>* said);
  void forget_consumed();
  void remove_early_directories() const;

  std::string runtime_, directory_;
  UniqueFd log_, watch_;
  Mapping slots_;
  std::set<uint32_t> slots_taken_;
  std::string unread_;
  bool is_damaged_ = false;
  off_t consumed_ = 0, forgotten_ = 0;  // bytes of the log
};

}  // namespace patchbay::cmd
