// SPDX-License-Identifier: MIT
// Input: a byte that says the layout, a format up to a NUL, then packed arguments; and all of it as
// the text of a printk_formats.
#include <algorithm>
#include <string>

#include "output/printk_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  if (size == 0) return 0;
  const auto layout = data[0] & 1 ? PrintkLayout::kKernels : PrintkLayout::kOurs;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string_view format = input.substr(0, input.find('\0'));
  const size_t behind = std::min(format.size() + 1, input.size());
  std::string out;
  append_printk(&out, format, {data + 1 + behind, input.size() - behind}, layout, {});
  // What other programs are given of it is a format with the same conversions.
  const std::string foreign = foreign_printk_format(format);
  if (foreign_printk_format(foreign) != foreign && !has_float(format)) __builtin_trap();
  PrintkTexts texts = PrintkTexts::from_formats(input);
  texts.find(0x1000);
  PrintkTexts again =
      PrintkTexts::from_formats(printk_formats_text({{0x1000, std::string(format)}}));
  if (!has_float(format) && format.find('\r') == format.npos) {
    const PrintkTexts::Text* text = again.find(0x1000);
    if (!text || text->text != foreign) __builtin_trap();
  }
  return 0;
}
