// SPDX-License-Identifier: MIT
//
// Texts by group, in bounded memory. What comes is kept until it is kMemory together; then the text
// of each group becomes an extent of a temporary file without a name. An extent begins with the
// place of the group's next one, so that a group needs the places of its first and last one only.
//
//   file   | next, size, text of a | next, size, text of b | next, size, text of a | …
//              `----------------------------------------------^
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay::cmd {

class GroupSpool {
 public:
  static constexpr size_t kMemory = 8 << 20;
  explicit GroupSpool(size_t memory = kMemory) : memory_(memory) {}

  // Groups are numbered from 0 on. Fails when the disk of the temporary file is full, say.
  Status append(size_t group, std::string_view text);
  // All text of a group, in pieces; false from `out` ends it.
  using Out = std::function<bool(std::string* piece)>;
  Status read(size_t group, const Out& out);
  // Bytes of the temporary file.
  uint64_t file_size() const { return file_size_; }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Extent {
    uint64_t next = kNone, size = 0;
  };
  struct Group {
    std::string text;  // not yet in the file
    uint64_t first = kNone, last = kNone;
  };
  Status flush();
  Status write_extent(Group* group);

  const size_t memory_;
  std::vector<Group> groups_;
  size_t kept_ = 0;  // bytes of all texts
  UniqueFd file_;
  uint64_t file_size_ = 0;
};

}  // namespace patchbay::cmd
