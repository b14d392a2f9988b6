// SPDX-License-Identifier: MIT
//
// Tells the probe path whose calls may have their returns hooked (return_callers.h), from the
// objects that are loaded. A program that hooks no return pays nothing.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "symbol/symbol.h"

namespace patchbay {

class WalkedCallers {
 public:
  // Before returns are hooked: from now on objects are followed.
  void begin(SymbolTable& symbols);
  // Objects may have come or gone.
  void refresh(SymbolTable& symbols);

 private:
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  bool wanted_ = false;
  std::map<std::pair<const Module*, uint64_t>, Ranges> walked_;  // by object and where it lies
};

}  // namespace patchbay
