// SPDX-License-Identifier: MIT
// synthetic_events: definitions of events that are made of others (docs/files.md).
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class SyntheticEventsFile : public File {
 public:
  explicit SyntheticEventsFile(SyntheticEvents& events) : events_(events) {}
  uint32_t mode() const override { return kWritable; }

  Status open(uint32_t flags) override {
    const bool clears = (flags & O_ACCMODE) != O_RDONLY && flags & O_TRUNC;
    return clears ? events_.clear() : Status();
  }
  Result<std::string> read() override { return events_.show(); }
  Result<size_t> write(std::string_view bytes) override {
    return for_each_line(bytes, [this](std::string_view line) { return events_.write_line(line); });
  }

 private:
  SyntheticEvents& events_;
};

}  // namespace

FilePtr make_synthetic_events(const Place& place) {
  return std::make_unique<SyntheticEventsFile>(place.tree->context.synthetic);
}

}  // namespace patchbay::tracefs
