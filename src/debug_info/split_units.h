// SPDX-License-Identifier: MIT
//
// What -gsplit-dwarf has put into .dwo files. A unit of the object is then a skeleton: it has its
// addresses, its lines, a number, and the name of the file that has the rest.
//
// libdw joins the two. It would open the file itself, by the name in the skeleton, so each name is
// made "/proc/self/fd/N" first, of a copy in memory that we have made of an ordinary file. Whether
// the file is of this build libdw sees by the number.
#pragma once

#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/unique_fd.h"
#include "base/unpacked_bytes.h"

namespace patchbay {

class SplitUnits {
 public:
  // `debug_path`: the file that has the skeletons; a .dwo file is looked for by its own path, in
  // its directory, and beside the debug file. Before `dwarf` is read: it is begun anew.
  void join(Dwarf** dwarf, Elf* elf, const std::string& debug_path);

  bool is_any() const { return !rests_.empty(); }
  // The unit that has the rest of this skeleton; nothing: it is none, or its file is not there.
  std::optional<Dwarf_Die> rest_of(Dwarf_Die skeleton) const;
  // Whether anything may be called so in that unit.
  static bool may_name(Dwarf_Die unit, std::string_view name);
  // The first file that is missing, or is of another build; empty: all units are joined.
  const std::string& missing() const { return missing_; }

 private:
  struct Skeleton {
    uint64_t entry = 0;  // of .debug_info
    std::string name, directory;
  };
  bool rename(Dwarf_Die skeleton, Elf* elf) const;
  void join_one(Dwarf* dwarf, const Skeleton& skeleton, const std::string& debug_path);
  UniqueFd copy_of(const Skeleton& skeleton, const std::string& debug_path);

  std::string strings_;  // .debug_str, and behind it the name that all skeletons have
  size_t name_at_ = 0;   // in strings_
  uint64_t copied_ = 0;  // bytes
  UnpackedBytes unpacked_;
  std::string missing_;
  std::unordered_map<const void*, Dwarf_Die> rests_;  // by the skeleton's bytes
};

}  // namespace patchbay
