// SPDX-License-Identifier: MIT
// free_buffer: takes anything; when it is closed the buffer shrinks to its minimum, and with the
// option disable_on_free recording stops. (A program that dies with the file open so gives the
// memory back.)
#include "registry/settings.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class FreeBufferFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  ~FreeBufferFile() override {
    if (held()) registry().settings().free_buffer(*held());
  }
  uint32_t mode() const override { return kOnlyWritable; }
  Result<size_t> write(std::string_view bytes) override { return bytes.size(); }
};

}  // namespace

FilePtr make_free_buffer(const Place& place) { return std::make_unique<FreeBufferFile>(place); }

}  // namespace patchbay::tracefs
