// SPDX-License-Identifier: MIT
// How files of function filters consume writes (docs/files.md): one word per write(), and a
// word that no blank has ended yet waits for the next write() or for close().
#pragma once

#include <string>
#include <string_view>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {

class FilterWords {
 public:
  struct Taken {
    size_t consumed = 0;
    std::string word;  // complete now; empty: there was none
  };
  // EINVAL: a word of more than kMaxWord characters; what there was of it is forgotten.
  Result<Taken> take(std::string_view bytes);
  // close(): the word that was not ended, or nothing.
  std::string take_rest() { return std::move(rest_); }

 private:
  // The kernel's limit is that of its symbols (about 660); names of C++ functions are longer.
  static constexpr size_t kMaxWord = 16384;
  std::string rest_;
};

}  // namespace patchbay::tracefs
