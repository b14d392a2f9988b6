// SPDX-License-Identifier: MIT
//
//   .plt.sec / .plt / .plt.got            .rela.plt / .rela.dyn            .dynsym
//   stub: [endbr64] [bnd] jmp *word(%rip)  ->  word, symbol's index   ->  name
//
// Where there is a .plt.sec, the stubs of .plt are the slow way behind it, and begin with a push.
#include "symbol/plt.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace patchbay {
namespace {

using Words = std::unordered_map<uint64_t, uint32_t>;  // address of the word: symbol's index

void read_relocations(const ElfImage& image, std::string_view name, Words* words) {
  const ElfSection* section = image.find_section(name);
  if (!section || section->type != SHT_RELA) return;
  const Bytes bytes = image.section_bytes(*section);
  for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
    Elf64_Rela one;
    std::memcpy(&one, bytes.data() + at, sizeof one);
    const uint64_t type = ELF64_R_TYPE(one.r_info);
    if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
      words->emplace(one.r_offset, uint32_t(ELF64_R_SYM(one.r_info)));
  }
}

// The word that a stub jumps through; 0: it is none.
uint64_t word_of(Bytes stub, uint64_t address) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, kBnd = 0xf2, kJump[] = {0xff, 0x25};
  size_t at = 0;
  if (stub.size() >= 4 && std::equal(kEndbr64, kEndbr64 + 4, stub.begin())) at = 4;
  if (at < stub.size() && stub[at] == kBnd) at++;
  if (at + 6 > stub.size() || !std::equal(kJump, kJump + 2, stub.begin() + long(at))) return 0;
  int32_t distance;
  std::memcpy(&distance, stub.data() + at + 2, sizeof distance);
  return address + at + 6 + uint64_t(int64_t{distance});
}

Words read_words(const ElfImage& image) {
  Words words;
  read_relocations(image, ".rela.plt", &words);
  read_relocations(image, ".rela.dyn", &words);
  return words;
}

void sort_by_address(std::vector<PltEntry>* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const PltEntry& a, const PltEntry& b) { return a.address < b.address; });
}

}  // namespace

std::vector<PltEntry> read_import_words(const ElfImage& image) {
  std::vector<PltEntry> entries;
  const ElfSymbols symbols = image.dynsym();
  for (const auto& [address, symbol] : read_words(image)) {
    if (symbol >= symbols.size()) continue;
    const std::string_view name = symbols.name(symbols[symbol]);
    if (!name.empty()) entries.push_back({address, 8, name});
  }
  sort_by_address(&entries);
  return entries;
}

std::vector<PltEntry> read_plt(const ElfImage& image) {
  std::vector<PltEntry> entries;
  const Words words = read_words(image);
  const ElfSymbols symbols = image.dynsym();
  for (const ElfSection& section : image.sections()) {
    if (!section.name.starts_with(".plt") || !(section.flags & SHF_EXECINSTR)) continue;
    const Bytes bytes = image.section_bytes(section);
    const size_t step = section.entry_size == 8 || section.name == ".plt.got" ? 8 : 16;
    for (size_t at = 0; at + step <= bytes.size(); at += step) {
      size_t size = step;
      uint64_t word = word_of(bytes.subspan(at, step), section.address + at);
      if (!word && step == 8 && at + 16 <= bytes.size()) {  // with an endbr64 they have 16 bytes
        word = word_of(bytes.subspan(at, 16), section.address + at);
        size = 16;
      }
      auto found = words.find(word);
      if (!word || found == words.end() || found->second >= symbols.size()) continue;
      const std::string_view name = symbols.name(symbols[found->second]);
      if (!name.empty()) entries.push_back({section.address + at, uint32_t(size), name});
    }
  }
  sort_by_address(&entries);
  return entries;
}

}  // namespace patchbay
