// SPDX-License-Identifier: MIT
//
// How the recorded arguments of a function are shown, by its address in its file. The units of a
// file are found by the ranges in their heads. A unit is read when the first of its functions is
// asked for, as a trace names only a few hundred functions of a large file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "debug_info/debug_info.h"
#include "debug_info/result_use.h"
#include "debug_info/unit_index.h"
#include "event/call_arguments.h"

namespace patchbay {

class FunctionPrototypes {
 public:
  // ENOENT with a sentence when there is no debug information for the file, or the file at `path`
  // is another one than that of `build_id` (hex; empty: unknown, taken as it is).
  static Result<std::unique_ptr<FunctionPrototypes>> open(const std::string& path,
                                                          const std::string& build_id);

  // Nothing when no function begins there. The names are foreign: they may hold any bytes.
  std::optional<CallArguments> at(uint64_t address);

 private:
  struct Range {
    uint64_t begin, end;
    size_t unit;
  };
  struct Unit {
    Dwarf_Die die{};
    bool is_read = false;
  };
  explicit FunctionPrototypes(std::unique_ptr<DebugInfo> info);
  void add_ranges(size_t unit);
  void read_functions(Dwarf_Die scope, int depth);

  std::unique_ptr<DebugInfo> info_;
  UnitIndex index_;
  ResultUses result_uses_;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;                          // sorted
  std::unordered_map<uint64_t, Dwarf_Die> functions_;  // of the units read, by first byte
};

}  // namespace patchbay
