// SPDX-License-Identifier: MIT
// error_log: the newest failed commands. Opening with O_TRUNC clears it; what is written is
// ignored.
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class ErrorLogFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  uint32_t mode() const override { return kWritable; }
  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    return found->errors.show();
  }
  Result<size_t> write(std::string_view bytes) override { return bytes.size(); }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_TRUNC)) array.errors.clear();
    return {};
  }
};

}  // namespace

FilePtr make_error_log(const Place& place) { return std::make_unique<ErrorLogFile>(place); }

}  // namespace patchbay::tracefs
