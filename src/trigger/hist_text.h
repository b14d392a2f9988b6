// SPDX-License-Identifier: MIT
//
// The files `hist` and `hist_debug` of an event (spec: ftrace.md 4.5), byte for byte.
#pragma once

#include <functional>
#include <string>

#include "hist/hist_data.h"
#include "symbol/symbol.h"

namespace patchbay {

struct HistTextSources {
  SymbolTable* symbols = nullptr;
  std::function<std::string(uint32_t pid)> comm;  // "<...>" for one that is not known
};

// One histogram. The file has all of the event, separated as in the kernel. Sorted by the sort
// keys; 131,072 entries in less than 300 ms.
std::string hist_text(const HistData& hist, const HistTextSources& sources);
std::string hist_debug_text(const HistData& hist);

}  // namespace patchbay
