// SPDX-License-Identifier: MIT
//
// The processes of a mount of all: those whose agents listen in the runtime directory. They come
// and go by themselves; who asks is told of those that are there now.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "cmd/mount/mount_target.h"

namespace patchbay::cmd {

struct MountedProcess {
  int pid = 0;
  std::string name;  // printable
  std::shared_ptr<MountTarget> target;
};

class MountProcesses {
 public:
  // `greet` is called for each process that has come, before anybody else asks it something.
  using Greet = std::function<void(const MountedProcess&)>;
  void set_greeting(Greet greet) { greet_ = std::move(greet); }

  // Calls `with` with the processes that are there, by pid. No other caller, and no greeting, comes
  // in between: what `with` gives to the targets, each gets in the same order.
  void look(const std::function<void(const std::vector<MountedProcess>&)>& with);
  std::shared_ptr<MountTarget> find(int pid);
  std::vector<std::string> names();  // "4711/"

  // Readable when something has changed in the runtime directory, until the next look; -1: the
  // system does not tell.
  int descriptor();
  // Whether there is a process whose agent does not listen yet, as far as the last look has seen.
  bool expects_somebody();
  void shut_down();

 private:
  void watch();
  bool has_changed();
  void scan();
  void drop_who_is_gone();
  void come(int pid, const std::string& directory);

  std::mutex mutex_;
  Greet greet_;
  std::map<int, MountedProcess> processes_;
  // Kept until nobody uses them: a target must not end inside its own thread.
  std::vector<std::shared_ptr<MountTarget>> gone_;
  std::set<int> expected_;
  std::string directory_;
  UniqueFd notifier_;
  bool watched_ = false, scanned_ = false, stopped_ = false;
};

}  // namespace patchbay::cmd
