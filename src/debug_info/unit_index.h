// SPDX-License-Identifier: MIT
//
// Which units of a file can say something about a name. The files of distributions mostly have no
// indexes (.debug_names, .gdb_index), and libdw needs seconds for 100 MB. So we search the bytes,
// which takes a tenth of a second:
//
//   name ──> where "name\0" lies in .debug_str ──> units that hold one of these offsets as 4 bytes
//                                              └─> (strx) units whose .debug_str_offsets has one
//        └─> units that hold the text itself
//
// A unit that is found may have the bytes by chance. A unit that is not found cannot name it. The
// found units are then read as they should be. What a search in a large file has found is kept for
// the next command (kept_units.h). The bytes of a unit that is split are in another file, and those
// are searched, too (split_units.h).
#pragma once

#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "debug_info/debug_info.h"
#include "debug_info/kept_units.h"

namespace patchbay {

class UnitIndex {
 public:
  static constexpr size_t kLarge = 8 << 20;
  // `large`: bytes of .debug_info from which on answers are kept.
  explicit UnitIndex(const DebugInfo& info, size_t large = kLarge);

  size_t size() const { return units_.size(); }
  // All units.
  std::vector<Dwarf_Die> all() const;
  // Units in which something may be called `name`, or `name<…>` for a template.
  std::vector<Dwarf_Die> naming(std::string_view name) const;
  // Units that may refer to one of these entries from outside their own unit (dwz and link time
  // optimisation make such units).
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
  bool mark_kept(std::string_view name, Marks* marks) const;
  void mark_split(std::string_view name, Marks* marks) const;
  void find_naming(std::string_view name, Marks* marks) const;
  void keep(std::string_view name, const Marks& marks) const;

  const DebugInfo& info_;
  std::string_view bytes_;  // .debug_info
  std::vector<Unit> units_;
  std::unique_ptr<KeptUnits> kept_;  // null: nothing is kept
};

}  // namespace patchbay
