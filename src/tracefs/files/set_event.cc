// SPDX-License-Identifier: MIT
// set_event: the enabled events; a word enables (with `!` disables) the events that it names
// (docs/files.md). One word per write(), as in the kernel: the caller writes the rest again.
// Opening with O_TRUNC disables everything.
#include <fcntl.h>

#include "registry/event_requests.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class SetEventFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    return registry().requests().show(*found);
  }

  Result<size_t> write(std::string_view bytes) override {
    PB_ASSIGN(auto found, array());
    PB_ASSIGN(Token token, take_token(bytes));
    if (!token.word.empty()) PB_TRY(registry().requests().set(*found, token.word));
    return token.consumed;
  }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) == O_RDONLY) return {};
    if (place_.tree->context.look_for_events) place_.tree->context.look_for_events();
    if (!(flags & O_TRUNC)) return {};
    return registry().requests().clear(array);
  }
};

}  // namespace

FilePtr make_set_event(const Place& place) { return std::make_unique<SetEventFile>(place); }

}  // namespace patchbay::tracefs
