// SPDX-License-Identifier: MIT
#include "kallsyms.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace standin {
namespace {

struct Symbol {
  uint64_t address;
  char type;
  const char* name;
};

uint64_t load_address() {
  uint64_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the first is the program itself
      },
      &base);
  return base;
}

// As nm: upper case for a symbol that other objects see.
char type_letter(const Elf64_Sym& symbol) {
  const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
  const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
  if (is_function) return is_local ? 't' : 'T';
  return is_local ? 'd' : 'D';
}

std::vector<Symbol> symbols_of(const std::string& image, uint64_t base) {
  std::vector<Symbol> found;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbol = reinterpret_cast<const Elf64_Sym*>(image.data() + sections[i].sh_offset);
    const char* names = image.data() + sections[sections[i].sh_link].sh_offset;
    for (uint64_t n = sections[i].sh_size / sizeof(*symbol); n > 0; n--, symbol++) {
      const int type = ELF64_ST_TYPE(symbol->st_info);
      if ((type != STT_FUNC && type != STT_OBJECT) || symbol->st_shndx == SHN_UNDEF) continue;
      found.push_back({base + symbol->st_value, type_letter(*symbol), names + symbol->st_name});
    }
  }
  return found;
}

}  // namespace

bool write_kallsyms(const char* file) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string image((std::istreambuf_iterator<char>(self)), std::istreambuf_iterator<char>());
  if (image.size() < sizeof(Elf64_Ehdr)) return false;
  std::vector<Symbol> symbols = symbols_of(image, load_address());
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  FILE* out = fopen(file, "we");
  if (!out) return false;
  for (const Symbol& symbol : symbols) {
    fprintf(out, "%016lx %c %s\n", symbol.address, symbol.type, symbol.name);
  }
  return fclose(out) == 0;
}

}  // namespace standin
