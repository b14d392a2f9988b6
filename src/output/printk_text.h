// SPDX-License-Identifier: MIT
//
// Records of ftrace:bprint and ftrace:bputs as text: the format and the packed arguments
// (event/printk_format.h) become what printf would have printed, in the C locale.
//
// Formats come out of the PrintkTable of a buffer file (ours), or out of a printk_formats text (a
// trace.dat, also of a kernel). The latter are as the kernel packs arguments; ours are written
// there so that both readings agree (foreign_printk_format).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event/printk_field.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay {

enum class PrintkLayout : uint8_t { kOurs, kKernels };

// Names an address: "func+0x4/0x10"; for %pS and its like in formats of a kernel.
using PrintkSymbol = std::function<std::string(uint64_t)>;

// Arguments of any origin: never read beyond their end; what is missing is shown as "(cut)".
// `symbol` may be empty.
void append_printk(std::string* out, std::string_view format,
                   std::span<const uint8_t> untrusted_arguments, PrintkLayout layout,
                   const PrintkSymbol& symbol);

struct PrintkArguments {
  std::span<const uint8_t> bytes;
  size_t at = 0;
};
// One conversion of our layout, without an allocation and without a lock: for threads of the
// program that write out what cannot be recorded as arguments.
void put_printk_argument(PrintkOut* out, PrintkSpec spec, PrintkArguments* arguments);

// A format of ours for readers that know the kernel's layout alone: conversions that were made when
// the record was written are %s, numbers have the size that was recorded. They have no %f: what
// they show for it is its eight bytes as a hexadecimal number.
std::string foreign_printk_format(std::string_view format);
bool has_float(std::string_view format);

// The text of printk_formats: lines 0x… : "…". Behind a format with floats stands a line with the
// same address and bit 63 set, which no record names: the format as it is, for ourselves.
std::string printk_formats_text(const std::vector<BufferFile::Text>& texts);

// The texts by their addresses.
class PrintkTexts {
 public:
  struct Text {
    std::string text;
    PrintkLayout layout;
  };
  using Load = std::function<std::vector<BufferFile::Text>()>;
  PrintkTexts() = default;
  // Asks again when an address is not known.
  explicit PrintkTexts(Load load) : load_(std::move(load)) {}
  // Of a printk_formats text; lines that are not such are skipped.
  static PrintkTexts from_formats(std::string_view untrusted_text);
  void add(const std::vector<BufferFile::Text>& texts);
  const Text* find(uint64_t address);

 private:
  Load load_;
  std::unordered_map<uint64_t, Text> texts_;
  uint64_t missing_ = 0;  // not found a moment ago either
};

}  // namespace patchbay
