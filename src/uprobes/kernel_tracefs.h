// SPDX-License-Identifier: MIT
//
// The kernel's tracefs, and in it what one recording has: an instance, and with uprobes a group of
// events, both called patchbay_PID after the tool.
//
//   instances/             flock()ed while one tool sets up or removes: they do it in turn
//   instances/patchbay_7/  flock()ed as long as tool 7 lives
//   uprobe_events          p:patchbay_7/work /bin/prog:0x1139 n=%di:u64
//
// The kernel drops the lock of a tool that was killed. The next one, and `patchbay clean`, find the
// instance unlocked and remove it with its events. Nothing is mounted where the program could see
// it: where tracefs is mounted nowhere, a mount without a place (fsmount) is made, which goes with
// its descriptor.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay {

// A directory, and files below it.
class TracefsDirectory {
 public:
  explicit TracefsDirectory(UniqueFd fd) : fd_(std::move(fd)) {}
  int get() const { return fd_.get(); }
  Result<UniqueFd> open(const std::string& path, int flags) const;
  Result<std::string> read(const std::string& path) const;
  // One write(). `flags`: O_APPEND, O_TRUNC or 0.
  Status write(const std::string& path, std::string_view text, int flags = 0) const;
  std::vector<std::string> list(const std::string& path) const;

 private:
  UniqueFd fd_;
};

enum class KernelUse : uint8_t { kUprobes, kEvents };

// Why it cannot be had is a sentence each: no rights, no tracefs, locked down, a kernel without
// uprobes.
Result<TracefsDirectory> open_kernel_tracefs(KernelUse use);

// The turn of a tool that sets up or removes something; waits for another one's.
Result<UniqueFd> lock_instances(const TracefsDirectory& top);
// Adds "p:GROUP/EVENT PLACE ARGUMENTS". An error has what the kernel's error_log says.
Status define_uprobe(const TracefsDirectory& top, const std::string& line);

// The instances and events that killed tools have left; removed, but for a `dry_run`. Without the
// rights to look there are none.
std::vector<std::string> remove_kernel_leftovers(bool dry_run);

// Instance and events, removed at the end.
class KernelInstance {
 public:
  // Removes what killed tools have left, and makes its own.
  static Result<std::unique_ptr<KernelInstance>> make(KernelUse use);
  ~KernelInstance() { (void)remove(); }
  KernelInstance(const KernelInstance&) = delete;

  const TracefsDirectory& files() const { return *instance_; }  // of the instance
  const TracefsDirectory& top() const { return top_; }
  const std::string& group() const { return name_; }
  // Adds "p:GROUP/EVENT PLACE ARGUMENTS". An error has what the kernel's error_log says.
  Status define(const std::string& line);
  Status remove();

 private:
  explicit KernelInstance(TracefsDirectory top) : top_(std::move(top)) {}

  TracefsDirectory top_;
  std::unique_ptr<TracefsDirectory> instance_;
  UniqueFd lock_;  // of the instance
  std::string name_;
};

// The lines of a text of `uprobe_events` that belong to one of the groups, as removals: "-:GRP/EV".
std::vector<std::string> uprobe_removals(std::string_view events, std::string_view group);

}  // namespace patchbay
