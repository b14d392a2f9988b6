// SPDX-License-Identifier: MIT
//
// The functions of one object, merged from its symbol tables, its debug file and its unwind tables.
#pragma once

#include <vector>

#include "symbol/elf_image.h"
#include "symbol/symbol.h"

namespace patchbay {

// Where to read one object from. `debug` is its separate debug file or null. A debug file that
// stands in for a missing object (has_code false) has addresses, but neither code nor unwind
// tables.
struct ObjectSources {
  const ElfImage* image = nullptr;
  const ElfImage* debug = nullptr;
  bool has_code = true;
  uint64_t bias = 0;
};

// A symbol with the table that it comes from.
struct TableSymbol {
  const ElfSymbols& table;
  const Elf64_Sym& symbol;
  size_t index;  // of the symbol in the table
  SymbolSource source;
};

// Defined in this object, and code (not PLT).
bool is_function(const ElfImage& image, const Elf64_Sym& symbol);
FunctionSymbol make_function(const TableSymbol& symbol, uint64_t bias);
// `a` is the better name of two for one address: global, without leading underscores, short.
bool is_better_name(const FunctionSymbol& a, const FunctionSymbol& b);

// As Module::functions() promises.
std::vector<FunctionSymbol> load_functions(const ObjectSources& sources);

}  // namespace patchbay
