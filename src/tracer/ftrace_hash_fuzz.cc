// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as a line of set_ftrace_filter, and as a glob over a name. A parsed line is
// made of the text, and parsing what it remembers says the same again.
#include <cstdlib>

#include "tracer/ftrace_hash.h"

namespace {

using namespace patchbay;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find('\n');
  if (cut != text.npos) {
    const std::string_view pattern = text.substr(0, cut), name = text.substr(cut + 1);
    const bool matches = glob_match(pattern, name);
    if (pattern == name && pattern.find_first_of("*?[\\") == pattern.npos) require(matches);
    require(glob_match("*", name));
    if (matches)
      require(glob_match(std::string(pattern) + "*", name) || pattern.ends_with('\\') ||
              pattern.find('[') != pattern.npos);
    return 0;
  }
  Result<FilterLine> line = parse_filter_line(text);
  if (!line.ok()) return require(!line.error().message().empty()), 0;
  require(line->pattern.size() + line->module.size() + line->command.size() +
              line->parameter.size() <=
          text.size());
  require(!line->has_module || line->command.empty());
  Result<FilterLine> again = parse_filter_line(line->text);
  // A second `!` is part of the pattern the first time.
  if (line->pattern.starts_with('!')) return 0;
  require(again.ok() && again->pattern == line->pattern && again->module == line->module &&
          again->command == line->command && again->parameter == line->parameter);
  return 0;
}
