// SPDX-License-Identifier: MIT
//
// Which loaded object a definition means, by name, file or address. Every answer may be another one
// after the next dlopen() or dlclose().
#pragma once

#include <cstdint>
#include <string_view>

#include "symbol/elf_module.h"
#include "symbol/symbol.h"

namespace patchbay {

// `LIB:` of a symbol; empty when it has none.
std::string_view library_of(std::string_view symbol);
// Nothing that is loaded is called so.
bool is_absent(SymbolTable& symbols, std::string_view library);
// The object whose text holds the address; null: it lies in no text.
ElfModule* module_of_text(SymbolTable& symbols, uint64_t address);
// The loaded object of this file, under whatever name; null: it is not loaded.
ElfModule* module_of_file(SymbolTable& symbols, std::string_view path);
// Where a byte of the file lies in memory; 0: nowhere.
uint64_t address_of_offset(const ElfModule& module, uint64_t file_offset);

}  // namespace patchbay
