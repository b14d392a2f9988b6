// SPDX-License-Identifier: MIT
#include "symbol/stored_addresses.h"

#include <algorithm>
#include <cstring>

namespace patchbay {
namespace {

// Where the code of an object lies, for a quick look.
struct CodeSpan {
  uint64_t first = UINT64_MAX, last = 0;

  explicit CodeSpan(const ElfImage& image) {
    for (const Elf64_Phdr& segment : image.segments()) {
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
      first = std::min<uint64_t>(first, segment.p_vaddr);
      last = std::max<uint64_t>(last, segment.p_vaddr + segment.p_memsz);
    }
  }
  bool holds(uint64_t address) const { return address >= first && address < last; }
};

template <typename T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void visit_relocations(const ElfImage& image, const CodeSpan& code,
                       const StoredAddressVisitor& visit) {
  const Bytes table = image.relocations();
  const ElfSymbols symbols = image.dynsym();
  for (size_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
    const auto entry = load<Elf64_Rela>(table.data() + at);
    uint64_t value = uint64_t(entry.r_addend);
    const uint32_t type = ELF64_R_TYPE(entry.r_info);
    if (type == R_X86_64_64) {
      const size_t index = ELF64_R_SYM(entry.r_info);
      if (index >= symbols.size() || symbols[index].st_shndx == SHN_UNDEF) continue;
      value += symbols[index].st_value;
    } else if (type != R_X86_64_RELATIVE) {
      continue;
    }
    if (code.holds(value)) visit(entry.r_offset, value);
  }
}

// DT_RELR: an even word is a place, an odd one says which of the 63 words behind the last are more.
void visit_packed_relocations(const ElfImage& image, const CodeSpan& code,
                              const StoredAddressVisitor& visit) {
  const Bytes table = image.packed_relocations();
  uint64_t next = 0;
  const auto look_at = [&](uint64_t place) {
    uint64_t value = 0;
    if (image.pointer_at(place, &value) && code.holds(value)) visit(place, value);
  };
  for (size_t at = 0; at + 8 <= table.size(); at += 8) {
    const auto entry = load<uint64_t>(table.data() + at);
    if (!(entry & 1)) {
      look_at(entry);
      next = entry + 8;
      continue;
    }
    for (uint64_t i = 0; i < 63; i++)
      if ((entry >> (i + 1)) & 1) look_at(next + 8 * i);
    next += 63 * 8;
  }
}

// In a segment with code (rodata beside it, as older linkers lay it out) only what is aligned.
void visit_words(const ElfImage& image, const CodeSpan& code, const StoredAddressVisitor& visit) {
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    Bytes bytes = image.at(segment.p_vaddr);
    bytes = bytes.first(std::min<uint64_t>(bytes.size(), segment.p_filesz));
    const bool is_code = segment.p_flags & PF_X;
    const size_t step = is_code ? 4 : 1;
    for (size_t at = 0; at + 4 <= bytes.size(); at += step) {
      const uint64_t half = load<uint32_t>(bytes.data() + at);
      if (!code.holds(half)) continue;
      const uint64_t place = segment.p_vaddr + at;
      const bool is_whole = at + 8 <= bytes.size() && load<uint32_t>(bytes.data() + at + 4) == 0;
      if (is_whole || (place % 4 == 0 && !is_code)) visit(place, half);
    }
  }
}

}  // namespace

void for_each_stored_address(const ElfImage& image, bool is_moved,
                             const StoredAddressVisitor& visit) {
  const CodeSpan code(image);
  visit_relocations(image, code, visit);
  visit_packed_relocations(image, code, visit);
  if (!is_moved) visit_words(image, code, visit);
}

}  // namespace patchbay
