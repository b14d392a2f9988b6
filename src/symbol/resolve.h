// SPDX-License-Identifier: MIT
//
// The functions that a user's words mean.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "symbol/elf_module.h"

namespace patchbay {

using ModuleList = std::vector<std::shared_ptr<ElfModule>>;

// As SymbolTable::resolve() promises. `modules` in load order, the executable first.
Result<std::vector<ResolvedFunction>> resolve_functions(const ModuleList& modules,
                                                        std::string_view spec);

// The implementation that an IFUNC's resolver chooses, in this process; 0 when it is no longer
// loaded.
uint64_t call_ifunc_resolver(uint64_t resolver);

// `library:name` taken apart at a single colon; `library` is empty when there is none.
struct FunctionSpec {
  std::string_view library;
  std::string_view name;
};
FunctionSpec split_spec(std::string_view spec);

}  // namespace patchbay
