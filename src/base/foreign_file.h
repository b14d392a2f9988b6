// SPDX-License-Identifier: MIT
//
// Opening what somebody else may have planted: debug files beside a program, libraries of a
// container, source files that debug information names, what a process has left in its directory.
// A FIFO would be waited for, a device does something when it is opened, a link leads anywhere, a
// file without an end fills the memory. So what is opened is looked at first, and only an ordinary
// file of a bounded size is opened to be read.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace patchbay {

// The debug files of a browser have 5 GB.
inline constexpr uint64_t kMostMappedFile = uint64_t{64} << 30;
// Texts: source files, headers, what a process has left.
inline constexpr uint64_t kMostForeignText = 64 << 20;

// The file of a process, as one word: where it is opened, "//", and its path in the process.
//
//   /proc/7/root//usr/bin/x                in its root directory: no link leads out of it
//   /proc/7/map_files/55aa-55bb//usr/bin/x  what it has mapped, whatever the path leads to by now
//   /proc/7/exe//usr/bin/x                  its program
//   /proc/self/fd/5//usr/bin/x              held open by us
//
// All functions here take such words for paths.
struct ProcessPath {
  std::string place;   // "/proc/7/root"; empty: it is a path of ours
  std::string inside;  // "/usr/bin/x"; of a path of ours that path
  bool is_in_root() const { return place.ends_with("/root"); }
};
ProcessPath split_process_path(const std::string& path);

enum class Links { kFollow, kRefuse };  // of the last component

// An ordinary file of at most `most` bytes, for reading. EINVAL: it is none. EFBIG: it is larger.
// ELOOP: it is a link, and they are refused. `size`: null, or what it has.
Result<UniqueFd> open_foreign_file(const std::string& path, uint64_t most, uint64_t* size = nullptr,
                                   Links links = Links::kFollow);

// The same for a path in another root directory: each link in it, also an absolute one, and each ..
// stays below `root`. Where the kernel cannot do that (before Linux 5.6) links are refused.
Result<UniqueFd> open_in_root(const std::string& root, const std::string& path, uint64_t most,
                              uint64_t* size = nullptr);

// All of such a file; nothing of one of /proc, which has no size.
Result<std::string> read_in_root(const std::string& root, const std::string& path, uint64_t most);
Result<std::string> read_foreign_file(const std::string& path, uint64_t most,
                                      Links links = Links::kFollow);
Result<std::string> read_foreign_file(const UniqueFd& file, const std::string& name, uint64_t size);

// Whether the first page of a file is what a process has at an address. `process`: /proc/PID, whose
// memory this user may read. Where map_files may not be asked it says, beside the file's number,
// whether a path still leads to what is mapped.
bool is_first_page_at(const UniqueFd& file, const std::string& process, uint64_t address);

}  // namespace patchbay
