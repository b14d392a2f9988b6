// SPDX-License-Identifier: MIT
// Where the commands come from that are carried out now, when that is a line of a file: what they
// leave in any error_log meanwhile begins with it ("/etc/app.conf:12: trace_kprobe: error: …").
// Under the agent's lock.
#pragma once

#include <cstdint>
#include <string>

namespace patchbay {

class ErrorOrigin {
 public:
  explicit ErrorOrigin(const std::string& where);  // must outlive this object
  ~ErrorOrigin();
  bool has_entries() const;  // something was added since

 private:
  uint64_t before_;
};

}  // namespace patchbay
