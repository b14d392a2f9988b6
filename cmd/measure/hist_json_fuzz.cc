// SPDX-License-Identifier: MIT
// Any text as that of a file `hist`: one line of JSON comes out.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cmd/common/common.cc"         // the tool is no library
#include "cmd/measure/hist_columns.cc"  // NOLINT
#include "cmd/measure/hist_entries.cc"  // NOLINT
#include "cmd/measure/hist_json.cc"     // NOLINT

namespace {

// Braces and brackets outside texts are closed in order.
bool is_nested(std::string_view json) {
  std::string open;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); i++) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') i++;
      if (uint8_t(c) < 0x20) return false;
      in_text = c != '"';
      continue;
    }
    in_text = c == '"';
    if (c == '{' || c == '[') open += c == '{' ? '}' : ']';
    if (c != '}' && c != ']') continue;
    if (open.empty() || open.back() != c) return false;
    open.pop_back();
  }
  return open.empty() && !in_text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string json = patchbay::cmd::hist_json({reinterpret_cast<const char*>(data), size});
  if (json.find('\n') != json.size() - 1 || !is_nested(json)) std::abort();
  return 0;
}
