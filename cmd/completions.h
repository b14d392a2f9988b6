// SPDX-License-Identifier: MIT
//
// What a shell may complete. The shells' own scripts are short: they give the words of the command
// line to `patchbay completions words`, which looks into the tables of options.
#pragma once

#include <string>
#include <vector>

namespace patchbay::cmd {

struct Completion {
  std::string text, description;
};

struct Completions {
  enum class Else : uint8_t { kNothing, kFiles, kDirectories, kProgram };
  std::vector<Completion> found;
  Else or_else = Else::kNothing;  // what the shell itself completes
  size_t program = 0;             // kProgram: where the words of the traced program begin
};

// `words`: "patchbay" and what stands behind it, up to the word that is being written, which may be
// empty.
Completions complete(const std::vector<std::string>& words);

}  // namespace patchbay::cmd
