// SPDX-License-Identifier: MIT
//
// DIR/tree-N/log: the records that agents append there (abi/follow_abi.h). Programs write it, so it
// is read with care.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/follow_abi.h"

namespace patchbay::cmd {

// A record of the log, or a slot.
struct FollowSaid {
  abi::FollowKind kind;
  pid_t pid, parent;
  uint64_t time_ns;
  uint32_t cpu, ticket;
  std::string comm;
  std::vector<std::string> texts;  // at least as many as the kind has

  const std::string& exe() const { return texts[0]; }  // of kWaits, kHasNothing
  std::vector<std::string> words() const { return {texts.begin() + 1, texts.end()}; }
};

// A text in a field of fixed size.
std::string text_at(const char* at, size_t size);

// Appends the whole records at the beginning of `bytes`, and gives how many bytes they have. Null:
// something stands there that no agent writes as a whole, as where a disk was full in the middle of
// a record. Where the next one begins is not known then; those before it have been appended.
std::optional<size_t> take_follow_records(std::string_view bytes, std::vector<FollowSaid>* said);

}  // namespace patchbay::cmd
