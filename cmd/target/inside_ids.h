// SPDX-License-Identifier: MIT
//
// The numbers of a process in a pid namespace of its own, as a container has one. Its agent knows
// only those; whoever looks from outside knows both, as long as the thread is there:
//
//   /proc/30817/task/30825/status   NSpid:  30825  9       here it is 30825, inside 9
//
// Of the namespaces that lie in between nothing is kept.
#pragma once

#include <map>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

// The numbers in the text of a status file: ours first, that of its own namespace last. Empty:
// there is no such line.
std::vector<int> numbers_in(std::string_view status);
// The number of a process in its own namespace; 0: it is in ours, or gone.
int number_inside(int pid);

class InsideIds {
 public:
  explicit InsideIds(int pid) : pid_(pid), number_(number_inside(pid)) {}
  bool is_inside() const { return number_ != 0; }
  int number() const { return number_; }
  // Adds the threads that are there now, those of its children, too.
  void look();
  // Numbers here, by those inside.
  const std::map<int, int>& outside() const { return outside_; }

 private:
  void look_at(int pid, int depth);

  int pid_, number_;
  std::map<int, int> outside_;
  std::map<int, int> known_;  // numbers inside, by those here
};

}  // namespace patchbay::cmd
