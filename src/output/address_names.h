// SPDX-License-Identifier: MIT
// Names of addresses for text output: from a kallsyms text (trace.dat) or a symbol table (buffer
// file).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbol/symbol.h"

namespace patchbay {

class AddressNames {
 public:
  struct Name {
    std::string_view name;  // valid until the next lookup
    uint64_t offset = 0, size = 0;
  };
  // Lines "%llx t name\t[module]"; lines that are not are skipped. A function ends where the next
  // line begins.
  static AddressNames from_kallsyms(std::string_view untrusted_text);
  static AddressNames from_symbols(std::unique_ptr<SymbolTable> symbols);
  // The agent's own table, which outlives this.
  static AddressNames from_symbols(SymbolTable& symbols);
  // False when no function is known there.
  bool lookup(uint64_t address, Name* out);
  SymbolTable* symbols() const { return symbols_; }

 private:
  struct Line {
    uint64_t address;
    std::string name;
  };
  std::vector<Line> lines_;
  std::unique_ptr<SymbolTable> owned_;
  SymbolTable* symbols_ = nullptr;
  std::string last_;
};

}  // namespace patchbay
