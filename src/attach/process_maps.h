// SPDX-License-Identifier: MIT
// What is mapped in another process: /proc/PID/maps, and the modules in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay::attach {

struct Range {
  uint64_t start = 0, end = 0;
  bool contains(uint64_t address) const { return address - start < end - start; }
};

struct MapLine {
  Range range;
  uint64_t offset = 0;
  uint64_t device = 0, inode = 0;  // of its file
  bool is_code = false;
  std::string name;
};

std::vector<MapLine> read_maps(pid_t pid);
// The line that holds an address; nullptr: none.
const MapLine* line_at(const std::vector<MapLine>& lines, uint64_t address);

// The whole of a library's file. What stands under its name may be anything, for it is the process
// that says it: ENOEXEC for what is no regular file, is longer than a library of libc's is, or
// cannot be read without waiting.
Result<std::string> read_library_file(const std::string& path);

// A file of a process that is mapped as a program or a library.
class Module {
 public:
  // The first one whose name fits. ENOENT: there is none.
  static Result<Module> find(pid_t pid, const std::vector<MapLine>& lines,
                             const std::function<bool(const MapLine&)>& fits);

  // Of its dynamic symbols, in the process; 0: it has none of this name.
  uint64_t function(std::string_view name) const;
  // Where these bytes stand in its code; 0: nowhere.
  uint64_t code_bytes(std::string_view bytes) const;
  // What the file has for an address in the process; empty: nothing.
  std::string_view file_bytes(uint64_t address, size_t size) const;
  std::string build_id() const;
  const std::vector<Range>& code() const { return code_; }

 private:
  Status place(uint64_t first_start, uint64_t first_offset);

  std::string file_;   // all of it: nobody truncates this copy
  uint64_t bias_ = 0;  // what is added to its addresses
  std::vector<Range> code_;
};

}  // namespace patchbay::attach
