// SPDX-License-Identifier: MIT
// Declarations as users and files have them: every text has an answer, and what is accepted stays
// the same when it is written as a line of function_events. A value of an enumeration always has a
// text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cmd/target/c_declaration.cc"  // the tool is no library
#include "cmd/target/c_enumeration.cc"
#include "cmd/target/c_structure.cc"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace patchbay::cmd;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  CTypes types;
  size_t begin = 0;
  for (size_t end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos) end = text.size();
    const std::string line = text.substr(begin, end - begin);
    if (is_c_enumeration(line) && types.add_enum(line).ok()) continue;
    if (types.add_typedef(line)) continue;
    auto declaration = parse_c_declaration(line);
    if (!declaration.ok()) continue;
    const FunctionLine made = function_line(*declaration, types, declaration->name);
    if (made.line.empty() || made.line.back() != ')') std::abort();
    for (const auto& [name, names] : made.names.arguments)
      for (const uint64_t bits : {uint64_t{0}, uint64_t{6}, uint64_t{0x80001}, ~uint64_t{0}})
        if (names->text(bits, 4, true).empty()) std::abort();
  }
  return 0;
}
