// SPDX-License-Identifier: MIT
#include "registry/sites/loaded_objects.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "symbol/resolve.h"

namespace patchbay {

std::string_view library_of(std::string_view symbol) { return split_spec(symbol).library; }

bool is_absent(SymbolTable& symbols, std::string_view library) {
  const std::vector<Module*> all = symbols.modules();
  return std::none_of(all.begin(), all.end(),
                      [&](Module* module) { return elf(module)->is_called(library); });
}

ElfModule* module_of_text(SymbolTable& symbols, uint64_t address) {
  for (Module* module : symbols.modules())
    for (const auto& [start, end] : module->text_ranges())
      if (address >= start && address < end) return elf(module);
  return nullptr;
}

ElfModule* module_of_file(SymbolTable& symbols, std::string_view path) {
  struct stat wanted = {};
  if (::stat(std::string(path).c_str(), &wanted) != 0) return nullptr;
  for (Module* module : symbols.modules()) {
    struct stat found = {};
    const std::string& own = module->path();
    if (own != path && (own.empty() || ::stat(own.c_str(), &found) != 0)) continue;
    if (own == path || (found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev))
      return elf(module);
  }
  return nullptr;
}

uint64_t address_of_offset(const ElfModule& module, uint64_t file_offset) {
  for (const Elf64_Phdr& segment : module.identity().segments) {
    if (segment.p_type != PT_LOAD || file_offset < segment.p_offset) continue;
    const uint64_t inside = file_offset - segment.p_offset;
    if (inside < segment.p_filesz) return module.bias() + segment.p_vaddr + inside;
  }
  return 0;
}

}  // namespace patchbay
