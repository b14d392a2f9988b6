// SPDX-License-Identifier: MIT
//
// For tests: the objects that cmake/debug_info_objects.cmake compiles, and temporary files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "debug_info/debug_info.h"
#include "debug_info/die.h"
#include "debug_info/hand_made_dwarf.h"

namespace patchbay::test {

inline std::string object_path(const std::string& name) {
  char self[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) < 0) return "";
  const std::string path(self);
  return path.substr(0, path.rfind('/')) + "/debug_info/" + name + ".so";
}
// clang may not be installed; cmake says so.
inline bool has_object(const std::string& name) {
  const bool has = ::access(object_path(name).c_str(), R_OK) == 0;
  if (!has) std::fprintf(stderr, "SKIPPED: %s was not compiled\n", name.c_str());
  return has || name.find("clang") == name.npos;
}

inline std::unique_ptr<DebugInfo> open_info(const std::string& path) {
  Result<std::unique_ptr<DebugInfo>> info = DebugInfo::open(path);
  EXPECT_TRUE(info.ok()) << info.error().message();
  return info.ok() ? std::move(*info) : nullptr;
}

// Whether clang compiled the first unit: the project's own compiler may be clang.
inline bool made_by_clang(const DebugInfo& info) {
  Dwarf_Off next = 0;
  size_t header = 0;
  Dwarf_Die unit;
  if (::dwarf_nextcu(info.dwarf(), 0, &next, &header, nullptr, nullptr, nullptr) != 0 ||
      !::dwarf_offdie(info.dwarf(), header, &unit))
    return false;
  unit = info.split_units().rest_of(unit).value_or(unit);
  return text_of(unit, DW_AT_producer).find("clang version ") != std::string::npos;
}

// The first entry of this name, children before siblings.
inline std::optional<Dwarf_Die> find_named(Dwarf_Die scope, std::string_view name) {
  for (Dwarf_Die child : children_of(scope)) {
    if (name_of(child) == name) return child;
    if (std::optional<Dwarf_Die> found = find_named(child, name)) return found;
  }
  return std::nullopt;
}
inline Dwarf_Die die_named(const DebugInfo& info, std::string_view name) {
  Dwarf_Off offset = 0, next = 0;
  size_t header = 0;
  for (; ::dwarf_nextcu(info.dwarf(), offset, &next, &header, nullptr, nullptr, nullptr) == 0;
       offset = next) {
    Dwarf_Die unit;
    if (!::dwarf_offdie(info.dwarf(), offset + header, &unit)) continue;
    unit = info.split_units().rest_of(unit).value_or(unit);
    if (std::optional<Dwarf_Die> found = find_named(unit, name)) return *found;
  }
  ADD_FAILURE() << "no entry is called " << name;
  return {};
}

// A file that is gone with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int fd = ::mkstemp(path_);
    EXPECT_GE(fd, 0);
    if (fd >= 0) ::close(fd);
  }
  explicit TemporaryFile(const std::string& bytes) : TemporaryFile() { write(bytes); }
  ~TemporaryFile() { ::unlink(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/debug_info_test.XXXXXX";
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace patchbay::test
