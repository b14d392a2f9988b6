// SPDX-License-Identifier: MIT
#include "uprobes/program_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace patchbay {
namespace {

using Bytes = std::span<const uint8_t>;
constexpr size_t kMaxName = 4096;

template <typename T>
bool load(Bytes bytes, uint64_t offset, T* out) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return false;
  std::memcpy(out, bytes.data() + offset, sizeof(T));
  return true;
}

Bytes range(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<uint64_t>(size, bytes.size() - offset));
}

std::string text_at(Bytes bytes, uint64_t offset) {
  if (offset >= bytes.size()) return "";
  const Bytes rest = bytes.subspan(offset);
  const auto end = std::find(rest.begin(), rest.begin() + std::min(rest.size(), kMaxName), 0);
  return std::string(rest.begin(), end);
}

// The note of Go's linker: its name is "Go".
bool has_go_note(Bytes notes) {
  static constexpr uint8_t kName[] = {'G', 'o', 0, 0};
  return std::search(notes.begin(), notes.end(), std::begin(kName), std::end(kName)) != notes.end();
}

template <typename Header, typename Segment>
bool read_segments(Bytes bytes, ProgramFile* out) {
  Header header;
  if (!load(bytes, 0, &header) || header.e_phentsize != sizeof(Segment)) return false;
  out->is_fixed = header.e_type == ET_EXEC;
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return false;
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Segment segment;
    if (!load(bytes, uint64_t{header.e_phoff} + uint64_t{i} * sizeof segment, &segment)) break;
    if (segment.p_type == PT_INTERP)
      out->interpreter = text_at(range(bytes, segment.p_offset, segment.p_filesz), 0);
    if (segment.p_type == PT_NOTE)
      out->has_go_note |= has_go_note(range(bytes, segment.p_offset, segment.p_filesz));
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    out->segments.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz, segment.p_memsz,
                             (segment.p_flags & PF_X) != 0});
  }
  return !out->segments.empty();
}

Bytes section_bytes(Bytes bytes, const Elf32_Shdr& section) {
  return section.sh_type == SHT_NOBITS ? Bytes() : range(bytes, section.sh_offset, section.sh_size);
}

bool is_function(const Elf32_Sym& symbol) {
  const unsigned type = ELF32_ST_TYPE(symbol.st_info);
  return type == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
}

void add_functions(Bytes symbols, Bytes names, std::vector<ProgramFile::Function>* out) {
  for (size_t at = 0; at + sizeof(Elf32_Sym) <= symbols.size(); at += sizeof(Elf32_Sym)) {
    Elf32_Sym symbol;
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (!is_function(symbol)) continue;
    std::string name = text_at(names, symbol.st_name);
    name.resize(std::min(name.find('@'), name.size()));
    if (name.empty()) continue;
    const bool is_global = ELF32_ST_BIND(symbol.st_info) != STB_LOCAL;
    out->push_back({symbol.st_value, symbol.st_size, is_global, std::move(name)});
  }
}

}  // namespace

std::optional<uint64_t> ProgramFile::offset_of(uint64_t address) const {
  for (const Segment& segment : segments)
    if (segment.is_executable && address >= segment.address &&
        address - segment.address < segment.file_size)
      return segment.offset + (address - segment.address);
  return std::nullopt;
}

std::optional<uint64_t> ProgramFile::address_of(uint64_t offset) const {
  for (const bool wants_code : {true, false})
    for (const Segment& segment : segments)
      if (segment.is_executable == wants_code && offset >= segment.offset &&
          offset - segment.offset < segment.file_size)
        return segment.address + (offset - segment.offset);
  return std::nullopt;
}

uint64_t ProgramFile::first_address() const {
  uint64_t first = UINT64_MAX;
  for (const Segment& segment : segments) first = std::min(first, segment.address);
  return first;
}

uint64_t ProgramFile::end_address() const {
  uint64_t end = 0;
  for (const Segment& segment : segments)
    end = std::max(end, segment.address + segment.memory_size);
  return end;
}

std::optional<ProgramFile> ProgramFile::read(Bytes bytes) {
  ProgramFile file;
  Elf32_Ehdr head;  // the first fields are the same
  if (!load(bytes, 0, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  file.is_32_bit = head.e_ident[EI_CLASS] == ELFCLASS32;
  file.is_x32 = file.is_32_bit && head.e_machine == EM_X86_64;
  if (head.e_machine != EM_X86_64 && !(file.is_32_bit && head.e_machine == EM_386))
    return std::nullopt;
  const bool good = file.is_32_bit ? read_segments<Elf32_Ehdr, Elf32_Phdr>(bytes, &file)
                                   : read_segments<Elf64_Ehdr, Elf64_Phdr>(bytes, &file);
  if (!good || file.first_address() >= file.end_address()) return std::nullopt;
  return file;
}

std::vector<ProgramFile::Function> ProgramFile::functions_32(Bytes bytes) {
  std::vector<Function> functions;
  Elf32_Ehdr header;
  if (!load(bytes, 0, &header) || header.e_shentsize != sizeof(Elf32_Shdr)) return functions;
  std::vector<Elf32_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); i++)
    if (!load(bytes, uint64_t{header.e_shoff} + i * sizeof(Elf32_Shdr), &sections[i]))
      return functions;
  for (const unsigned type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf32_Shdr& section : sections)
      if (section.sh_type == type && section.sh_link < sections.size())
        add_functions(section_bytes(bytes, section),
                      section_bytes(bytes, sections[section.sh_link]), &functions);
    if (!functions.empty()) break;
  }
  std::stable_sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
    return a.address != b.address ? a.address < b.address : a.is_global > b.is_global;
  });
  return functions;
}

}  // namespace patchbay
