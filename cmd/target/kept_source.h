// SPDX-License-Identifier: MIT
//
// Debug information that stays open between its uses. The programs of one recording share their
// libraries, and that of libc alone takes 60 ms to open.
//
// Threads: each use has its own; two at one time open the file twice.
#pragma once

#include <memory>
#include <string>

#include "base/file_stamp.h"
#include "base/result.h"
#include "debug_info/derive.h"

namespace patchbay::cmd {

class KeptSource {
 public:
  // As SourceProbes::open(). A file that has changed since is opened again.
  static Result<KeptSource> open(const std::string& path);
  KeptSource(KeptSource&&) = default;
  KeptSource& operator=(KeptSource&&) = default;
  ~KeptSource();  // it is kept for the next one

  SourceProbes& operator*() const { return *probes_; }
  SourceProbes* operator->() const { return probes_.get(); }

 private:
  KeptSource(std::string path, const FileStamp& stamp, std::unique_ptr<SourceProbes> probes);

  std::string path_;
  FileStamp stamp_;
  std::unique_ptr<SourceProbes> probes_;  // null: moved from
};

}  // namespace patchbay::cmd
