// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as a filter. An error has its caret within the text (at most two behind it);
// a program gives the same answer as machine code and interpreted, over records made of the bytes.
#include <cstdlib>

#include "filter/filter_testing.h"

namespace {

using namespace patchbay;

void require(bool condition) {
  if (!condition) std::abort();
}

void run(const FilterProgram& program, uint64_t seed, uint32_t size) {
  RandomFilter random(seed);
  TestRecord record = random.record("a pointer that can be followed");
  size = std::min(size, record.size());
  require(filter_match(&program, record.bytes.data(), size) ==
          filter_interpret(&program, record.bytes.data(), size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  FilterResult result = compile_filter(text, test_context());
  require(bool(result.program) != result.error.has_value());
  if (result.error) {
    require(result.error->position <= text.size() + 2);
    require(!filter_error_text(text, *result.error).empty());
    return 0;
  }
  for (uint64_t i = 0; i < 8; i++)
    run(*result.program, size * 8 + i, i % 2 ? 160 : uint32_t(i * 20));
  return 0;
}
