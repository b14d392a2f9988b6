// SPDX-License-Identifier: MIT
// Any texts as those of files `hist` of two processes, of any definition: a sum comes out, in which
// the sum of that alone changes nothing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cmd/common/common.cc"         // the tool is no library
#include "cmd/measure/hist_columns.cc"  // NOLINT
#include "cmd/measure/hist_entries.cc"  // NOLINT
#include "cmd/measure/hist_json.cc"     // NOLINT
#include "cmd/measure/hist_sum.cc"      // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string definition(cut_at(&rest, '\n'));
  const std::string first(cut_at(&rest, '\0'));
  (void)cmd::summable_definition(definition);
  const std::string sum = cmd::hist_sum({first, std::string(rest)}, {definition, {"n"}});
  (void)cmd::hist_json(sum);
  if (sum.empty() != (cmd::hist_definition(first).empty() && cmd::hist_definition(rest).empty()))
    std::abort();
  return 0;
}
