// SPDX-License-Identifier: MIT
// Any bytes as the kernel's lists of functions and events, and as a format: the functions come out
// as lines in order, and a request finds names of the list only.
#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "uprobes/kernel_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string functions =
      kernel_functions(text, {uint64_t{1} << 63, 0xffffffff81000010, ~uint64_t{0} - 1});
  const std::vector<std::string> lines = split_lines(functions);
  if (!std::is_sorted(lines.begin(), lines.end())) std::abort();
  const std::vector<std::string> all = split_lines(text);
  for (const std::string& name : kernel_events_of(text.substr(0, text.find('\n')), all))
    if (std::find(all.begin(), all.end(), name) == all.end()) std::abort();
  if (format_with_id(text, 65535).size() > size + 5) std::abort();
  return 0;
}
