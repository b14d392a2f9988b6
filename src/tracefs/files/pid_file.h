// SPDX-License-Identifier: MIT
// The four files of thread ids (docs/files.md). All words of one write count, or none: a
// bad one leaves the list as it was. O_TRUNC empties the list; a NUL ends the write early (kernel).
#pragma once

#include <fcntl.h>

#include <string>

#include "registry/pid_lists.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

class PidFile : public ArrayFile {
 public:
  PidFile(const Place& place, PidList which) : ArrayFile(place), which_(which) {}
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    return show(*found);
  }

  Result<size_t> write(std::string_view bytes) override {
    PB_ASSIGN(auto found, array());
    std::string words;
    size_t consumed = 0;
    while (consumed < bytes.size()) {
      PB_ASSIGN(Token token, take_token(bytes.substr(consumed)));
      consumed += token.consumed;
      if (token.word.empty()) break;
      words.append(token.word).append(" ");
    }
    if (!words.empty()) PB_TRY(registry().pid_lists().add(*found, which_, words));
    return consumed;
  }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) == O_RDONLY || !(flags & O_TRUNC)) return {};
    return registry().pid_lists().clear(array, which_);
  }
  virtual std::string show(const TraceArray& array) const = 0;
  const PidList which_;
};

}  // namespace patchbay::tracefs
