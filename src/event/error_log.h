// SPDX-License-Identifier: MIT
//
// The text of error_log (docs/files.md, "error_log"), one log for each instance. Under the agent's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace patchbay {

// The eight newest failed commands.
class ErrorLog {
 public:
  // `position`: characters of `command` before the caret.
  // An empty `text` is the kernel's nameless error: "Error".
  void add(std::string_view location, std::string_view text, std::string_view command,
           size_t position);
  void clear() { entries_.clear(); }
  std::string show() const;  // the text of error_log

 private:
  std::deque<std::string> entries_;
};

// While one lives, every command that is carried out stands in a line of a file, and `where` names
// that line. What the command leaves in any error_log begins with it ("/etc/app.conf:12:
// trace_kprobe: error: …").
class ErrorOrigin {
 public:
  explicit ErrorOrigin(const std::string& where);  // must outlive this object
  ~ErrorOrigin();
  bool has_entries() const;  // something was added since

 private:
  uint64_t before_;
};

}  // namespace patchbay
