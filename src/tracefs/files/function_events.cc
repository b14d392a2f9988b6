// SPDX-License-Identifier: MIT
// function_events: definitions of events on functions (docs/files.md, "Function events").
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class FunctionEventsFile : public File {
 public:
  explicit FunctionEventsFile(FunctionEvents& events) : events_(events) {}
  uint32_t mode() const override { return 0644; }

  Status open(uint32_t flags) override {
    if ((flags & O_ACCMODE) == O_RDONLY) return {};
    if (flags & O_TRUNC) PB_TRY(events_.clear());
    events_.forget_errors();
    return {};
  }

  Result<std::string> read() override { return events_.show(); }

  Result<size_t> write(std::string_view bytes) override {
    return for_each_line(bytes, [this](std::string_view line) { return events_.write_line(line); });
  }

 private:
  FunctionEvents& events_;
};

}  // namespace

FilePtr make_function_events(const Place& place) {
  return std::make_unique<FunctionEventsFile>(place.tree->context.functions);
}

}  // namespace patchbay::tracefs
