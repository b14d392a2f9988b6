// SPDX-License-Identifier: MIT
//
// A histogram as text: the file `hist` of an event (docs/files.md, "The hist file"), byte for byte
// the kernel's, and what the tool prints. And the file hist_debug.
//
// Ours beyond the kernel: a value with .quantiles is five columns, and a line of the head says how
// far they may be off.
#pragma once

#include <string>
#include <string_view>

#include "hist/definition/hist_data.h"
#include "hist/image/hist_image.h"

namespace patchbay {

enum class HistStyle : uint8_t {
  kKernel,    // of the file: numbers below 0 are large ones, texts are as they are
  kTerminal,  // numbers have their sign, and nothing commands a terminal
};

// One histogram, from "# event histogram" to its totals.
std::string hist_text(const HistImage& image, HistStyle style = HistStyle::kKernel);
std::string hist_debug_text(const HistData& hist, std::string_view definition);

}  // namespace patchbay
