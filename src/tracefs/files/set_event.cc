// SPDX-License-Identifier: MIT
// set_event: the enabled events; a word enables (with `!` disables) the events that it names
// (docs/files.md). One word per write(), as in the kernel: the caller writes the rest again.
// Opening with O_TRUNC disables everything.
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

class SetEventFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read() override {
    Result<TraceArray*> found = array();
    if (!found.ok()) return found.error();
    return registry().show_set_event(**found);
  }

  Result<size_t> write(std::string_view bytes) override {
    Result<TraceArray*> found = array();
    if (!found.ok()) return found.error();
    Result<Token> token = take_token(bytes);
    if (!token.ok()) return token.error();
    if (!token->word.empty()) PB_TRY(registry().set_event(**found, token->word));
    return token->consumed;
  }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) == O_RDONLY) return {};
    if (place_.tree->context.look_for_events) place_.tree->context.look_for_events();
    if (!(flags & O_TRUNC)) return {};
    return registry().clear_set_event(array);
  }
};

}  // namespace

FilePtr make_set_event(const Place& place) { return std::make_unique<SetEventFile>(place); }

}  // namespace patchbay::tracefs
