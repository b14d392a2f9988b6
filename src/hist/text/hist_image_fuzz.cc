// SPDX-License-Identifier: MIT
// Any bytes as the images of a file: what is taken can be shown in each style, and is the same when
// it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hist/text/hist_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  auto read = parse_hist_images({reinterpret_cast<const char*>(data), size});
  if (!read.ok()) return 0;
  for (const HistImage& image : *read) {
    auto again = parse_hist_images(hist_image_bytes(image));
    if (!again.ok() || again->size() != 1) std::abort();
    if (hist_text(again->front()) != hist_text(image)) std::abort();
    const std::string safe = hist_text(image, HistStyle::kTerminal);
    if (safe.find('\x1b') != safe.npos) std::abort();
  }
  return 0;
}
