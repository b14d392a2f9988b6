// SPDX-License-Identifier: MIT
// kprobe_events and uprobe_events are one file with two kinds of lines.
#pragma once

#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {

class ProbeEventsFile : public File {
 public:
  ProbeEventsFile(ProbeEvents& events, ProbeFile file) : events_(events), file_(file) {}
  uint32_t mode() const override { return kWritable; }

  Status open(uint32_t flags) override {
    const bool clears = (flags & O_ACCMODE) != O_RDONLY && flags & O_TRUNC;
    return clears ? events_.clear(file_) : Status();
  }
  Result<std::string> read() override { return events_.show(file_); }
  Result<size_t> write(std::string_view bytes) override {
    return for_each_line(
        bytes, [this](std::string_view line) { return events_.write_line(file_, line); });
  }

 private:
  ProbeEvents& events_;
  const ProbeFile file_;
};

}  // namespace patchbay::tracefs
