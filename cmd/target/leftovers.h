// SPDX-License-Identifier: MIT
//
// What dead processes have left in the runtime directory: DIR/PID, DIR/PID.N.
//
//   kEmpty      nothing was ever recorded, no histogram and no profile is kept: nobody misses it
//   kRecovered  `patchbay recover` has saved all of it
//   kUnsaved    events that are nowhere else
//   kTexts      no events, or saved ones, but histograms (hist/) or a profile (trace_stat), which
//               no trace.dat has
//   kInUse      somebody still has a buffer mapped: a forked child records in it, or a process that
//               is not to be seen from here (another pid namespace)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

struct Leftover {
  enum class Kind : uint8_t { kEmpty, kRecovered, kUnsaved, kTexts, kInUse };
  std::string directory;
  Kind kind = Kind::kInUse;
};

// Of the processes that are dead.
Result<std::vector<Leftover>> find_leftovers(const std::string& runtime_directory);
Status remove_leftover(const Leftover& leftover);
// Its bytes on disk.
uint64_t bytes_of(const Leftover& leftover);
// Removes those that are empty and a minute old. A command calls it before it starts a program.
void remove_empty_leftovers(const std::string& runtime_directory);

// Removes the directories of recordings that followed programs (abi/follow_abi.h) and were killed.
// Their paths.
std::vector<std::string> remove_stale_trees(const std::string& runtime_directory, bool dry_run);

// Notes that all of a dead process's directory is saved.
void note_recovered(const std::string& process_directory);

}  // namespace patchbay::cmd
