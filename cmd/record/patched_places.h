// SPDX-License-Identifier: MIT
//
// Places that a tracer has patched in a running process. A uprobe there would break the process:
// the kernel writes its breakpoint into what stands there, a jump of five bytes perhaps, but runs
// the instruction that the file has, and goes on in the middle of the jump.
//
//   file   55 | 48 89 e5 | ...        process  e9 xx xx xx xx | ...
//          ^ the kernel runs this, and goes on here: ^
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

class PatchedPlaces {
 public:
  // EBUSY with a sentence: some process has other code than the file at this byte. Where a process
  // cannot be read nothing is known of it. `what`: the event, for the sentence.
  Status check(const std::string& file, uint64_t offset, bool is_32_bit, const std::string& what);

 private:
  struct User {
    pid_t pid = 0;
    bool has_agent = false;
    uint64_t start = 0, end = 0, offset = 0;  // the code that is mapped, its place in the file
  };
  const std::vector<User>& users(const std::string& file);

  std::map<std::pair<uint64_t, uint64_t>, std::vector<User>> users_;  // by device and inode
};

}  // namespace patchbay::cmd
