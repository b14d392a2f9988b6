// SPDX-License-Identifier: MIT
//
// For tests and fuzzers: files with debug information that is written by hand, byte by byte (DWARF
// 5, 32 bits).
#pragma once

#include <dwarf.h>
#include <elf.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace patchbay::test {

// --- bytes

template <typename T>
std::string word(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string uleb(uint64_t value) {
  std::string bytes;
  do {
    bytes += char((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value);
  return bytes;
}
inline std::string sleb(int64_t value) {
  std::string bytes;
  for (bool more = true; more; value >>= 7) {
    more = value > 63 || value < -64;
    bytes += char((value & 0x7f) | (more ? 0x80 : 0));
  }
  return bytes;
}
inline std::string op(unsigned atom, const std::string& operands = "") {
  return char(atom) + operands;
}

// --- entries

struct HandMadeAttribute {
  unsigned name, form;
  std::string bytes;   // as the form has it
  std::string target;  // of DW_FORM_ref4: the entry with this label
};
inline HandMadeAttribute name_is(const std::string& name) {
  return {DW_AT_name, DW_FORM_string, name + '\0', ""};
}
inline HandMadeAttribute expression(unsigned name, const std::string& ops) {
  return {name, DW_FORM_exprloc, uleb(ops.size()) + ops, ""};
}
inline HandMadeAttribute number(unsigned name, uint64_t value) {
  return {name, DW_FORM_udata, uleb(value), ""};
}
inline HandMadeAttribute type_is(const std::string& label) {
  return {DW_AT_type, DW_FORM_ref4, "", label};
}

struct HandMadeEntry {
  unsigned tag;
  std::string label;
  std::vector<HandMadeAttribute> attributes;
  std::vector<HandMadeEntry> children;
};

// One unit, each entry with an abbreviation of its own; written in two passes for its references.
class HandMadeUnit {
 public:
  explicit HandMadeUnit(const HandMadeEntry& root) {
    for (int pass = 0; pass < 2; pass++) {
      const std::string head =
          word(uint16_t{5}) + char(DW_UT_compile) + char(8) + word(uint32_t{0});
      info = word(uint32_t{0}) + head;
      abbreviations.clear();
      next_ = 1;
      add(root);
      abbreviations += '\0';
      const std::string length = word(uint32_t(info.size() - 4));
      info.replace(0, 4, length);
    }
  }
  std::string info, abbreviations;

 private:
  void add(const HandMadeEntry& entry) {
    if (!entry.label.empty()) offsets_[entry.label] = uint32_t(info.size());
    info += uleb(next_);
    abbreviations += uleb(next_++) + uleb(entry.tag) + char(!entry.children.empty());
    for (const HandMadeAttribute& attribute : entry.attributes) {
      abbreviations += uleb(attribute.name) + uleb(attribute.form);
      info += attribute.form == DW_FORM_ref4 ? word(offsets_[attribute.target]) : attribute.bytes;
    }
    abbreviations += std::string(2, '\0');
    for (const HandMadeEntry& child : entry.children) add(child);
    if (!entry.children.empty()) info += '\0';
  }
  std::map<std::string, uint32_t> offsets_;
  uint64_t next_ = 1;
};

// --- files

using Sections = std::vector<std::pair<std::string, std::string>>;

// An ELF file with these sections, and one segment for addresses from 0x1000 on.
inline std::string elf_file(const Sections& sections) {
  std::string names(1, '\0'), body;
  std::vector<Elf64_Shdr> headers(1);
  const size_t start = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  auto add = [&](const std::string& name, const std::string& bytes, uint32_t type) {
    Elf64_Shdr header{};
    header.sh_name = uint32_t(names.size());
    header.sh_type = type;
    header.sh_offset = start + body.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 1;
    names += name + '\0';
    body += bytes;
    headers.push_back(header);
  };
  for (const auto& [name, bytes] : sections) add(name, bytes, SHT_PROGBITS);
  add(".shstrtab", names + ".shstrtab" + '\0', SHT_STRTAB);
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_DYN;
  head.e_machine = EM_X86_64;
  head.e_version = EV_CURRENT;
  head.e_phoff = sizeof head;
  head.e_shoff = start + body.size();
  head.e_ehsize = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 1;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = uint16_t(headers.size());
  head.e_shstrndx = uint16_t(headers.size() - 1);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_vaddr = 0x1000;
  segment.p_memsz = 0x10000;
  std::string file = word(head) + word(segment) + body;
  for (const Elf64_Shdr& header : headers) file += word(header);
  return file;
}

}  // namespace patchbay::test
