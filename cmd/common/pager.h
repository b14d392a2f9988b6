// SPDX-License-Identifier: MIT
//
// What is printed goes through a pager, as git's output does: $PATCHBAY_PAGER, $PAGER or less, when
// standard output is a terminal. less gets $LESS; without one FRX: it ends where all fits on the
// screen, lets colours through, and leaves the text there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace patchbay::cmd {

// The pager's command line; empty: none is wanted, or less is not installed.
std::string pager_command();

class Pager {
 public:
  Pager() = default;
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;
  // Waits until it is left.
  ~Pager() { (void)finish(); }
  // Does nothing where standard output is no terminal, or nobody wants a pager. `colors`: less must
  // let them through, also where $LESS does not say so.
  void start(bool colors);
  // False: there was no such command, and nobody has seen what was printed.
  bool finish();
  // Whoever reads has left it: what is printed now is lost, and no error.
  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_ = -1;
  UniqueFd stderr_;  // as it was
};

}  // namespace patchbay::cmd
