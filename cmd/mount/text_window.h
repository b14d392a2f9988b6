// SPDX-License-Identifier: MIT
//
// The bytes of a text at any offset, where the text itself can only be read on. A reader may seek
// back a little (shells do): what was read last is kept. One that goes back to the start is shown
// what is there now, as by a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace patchbay::cmd {

class TextWindow {
 public:
  // Out of what is kept, else by reading on with `more` (empty: the end), else from the start,
  // which `restart` goes back to.
  template <typename Restart, typename More>
  Result<std::string> bytes_at(uint64_t offset, size_t size, Restart restart, More more) {
    const bool starts_again = offset == 0 && position_ > 0;
    if (starts_again || offset < start_) {
      PB_TRY(restart());
      kept_.clear();
      start_ = position_ = 0;
    }
    while (position_ <= offset) {
      Result<std::string> piece = more();
      if (!piece.ok()) return piece;
      if (piece->empty()) return std::string();
      kept_ += *piece;
      position_ += piece->size();
      const size_t keep = kSize + size_t(position_ - std::min(position_, offset));
      if (kept_.size() > keep) kept_.erase(0, kept_.size() - keep);
      start_ = position_ - kept_.size();
    }
    return kept_.substr(size_t(offset - start_), size);
  }

 private:
  static constexpr size_t kSize = 256 * 1024;
  std::string kept_;
  uint64_t start_ = 0, position_ = 0;
};

}  // namespace patchbay::cmd
