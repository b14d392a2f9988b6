// SPDX-License-Identifier: MIT
//
// Which units of a file can say something about a name. Indexes (.debug_names, .gdb_index) are
// mostly absent in what distributions ship, and reading all of 100 MB through libdw takes seconds;
// so we search bytes, which takes a tenth of one:
//
//   name ──> where "name\0" lies in .debug_str ──> units that hold one of these offsets as 4 bytes
//                                              └─> (strx) units whose .debug_str_offsets has one
//        └─> units that hold the text itself
//
// A unit that is found has the bytes by chance now and then; one that is not found cannot name it.
// The units are then read as they should be.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "debug_info/debug_info.h"

namespace patchbay {

class UnitIndex {
 public:
  explicit UnitIndex(const DebugInfo& info);

  size_t size() const { return units_.size(); }
  // All units.
  std::vector<Dwarf_Die> all() const;
  // Units in which something may be called `name`, or `name<…>` for a template.
  std::vector<Dwarf_Die> naming(std::string_view name) const;
  // Units that may refer to one of these entries from outside their own unit (what dwz and link
  // time optimisation make).
  std::vector<Dwarf_Die> referring(const std::unordered_set<uint64_t>& entries) const;
  // Units whose line table has a file of this base name.
  std::vector<Dwarf_Die> with_file(std::string_view base_name) const;

 private:
  struct Unit {
    uint64_t begin, end, first_entry, abbreviations;
  };
  using Marks = std::vector<bool>;
  void mark_offsets(const std::unordered_set<uint64_t>& offsets, Marks* marks) const;
  void mark_texts(std::string_view text, Marks* marks) const;
  void mark_indexed(const std::unordered_set<uint64_t>& offsets, Marks* marks) const;
  void mark(uint64_t position, Marks* marks) const;
  bool refers_outside(uint64_t abbreviations) const;
  std::vector<Dwarf_Die> entries_of(const Marks& marks) const;

  const DebugInfo& info_;
  std::string_view bytes_;  // .debug_info
  std::vector<Unit> units_;
};

}  // namespace patchbay
