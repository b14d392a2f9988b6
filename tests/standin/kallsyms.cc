// SPDX-License-Identifier: MIT
#include "kallsyms.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

struct Symbols {
  Symbol* at = nullptr;
  size_t count = 0;
};

bool is_listed(const Elf64_Sym& symbol) {
  const int type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_OBJECT) && symbol.st_shndx != SHN_UNDEF;
}

Symbols symbols_of(const char* image, uint64_t base) {
  Symbols found;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbol = reinterpret_cast<const Elf64_Sym*>(image + sections[i].sh_offset);
    const char* names = image + sections[sections[i].sh_link].sh_offset;
    const uint64_t count = sections[i].sh_size / sizeof(*symbol);
    found.at = static_cast<Symbol*>(realloc(found.at, (found.count + count) * sizeof(Symbol)));
    if (!found.at) return {};
    for (uint64_t n = 0; n < count; n++, symbol++)
      if (is_listed(*symbol))
        found.at[found.count++] = {base + symbol->st_value, type_letter(*symbol),
                                   names + symbol->st_name};
  }
  return found;
}

int by_address(const void* a, const void* b) {
  const uint64_t left = static_cast<const Symbol*>(a)->address;
  const uint64_t right = static_cast<const Symbol*>(b)->address;
  return left < right ? -1 : left > right;
}

const char* map_own_file() {
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return nullptr;
  void* image = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  return image == MAP_FAILED ? nullptr : static_cast<const char*>(image);
}

}  // namespace

bool write_kallsyms(const char* file) {
  const char* image = map_own_file();
  if (!image) return false;
  const Symbols symbols = symbols_of(image, load_address());
  if (!symbols.count) return false;
  qsort(symbols.at, symbols.count, sizeof(Symbol), by_address);
  FILE* out = fopen(file, "we");
  if (!out) return false;
  for (size_t i = 0; i < symbols.count; i++) {
    const Symbol& symbol = symbols.at[i];
    fprintf(out, "%016lx %c %s\n", symbol.address, symbol.type, symbol.name);
  }
  return fclose(out) == 0;
}

}  // namespace standin
