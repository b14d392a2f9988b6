// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as what a function event has recorded of `...`. What is shown has no byte
// that commands a terminal, is not much longer, and stays when it is read again.
#include <cstdlib>

#include "output/format_args_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string out, again;
  patchbay::append_format_args(&out, text, true);
  for (const char c : out)
    if (uint8_t(c) < 0x20 || c == 0x7f) std::abort();
  if (out.size() > 8 * text.size() + 64) std::abort();
  patchbay::append_format_args(&again, out, true);
  if (again != out) std::abort();
  return 0;
}
