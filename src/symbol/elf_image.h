// SPDX-License-Identifier: MIT
//
// A small ELF reader of our own, because the agent may bring no library into a foreign process. It
// reads an x86-64 ELF object from the bytes of its file. When the file is gone, it reads the object
// from memory, as the dynamic linker has mapped it. All results are views into these bytes.
//
// The bytes are not trusted. Each offset, count and length is checked against the bytes, and
// anything that does not fit is absent. elf_fuzz.cc tests this. They may change while they are
// read: of a file that is cut short zeros are read (base/mapped_files.h), and no offset is read
// twice.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace patchbay {

using Bytes = std::span<const uint8_t>;

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint32_t link = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t entry_size = 0;
};

// A symbol table with its strings.
class ElfSymbols {
 public:
  ElfSymbols() = default;
  ElfSymbols(Bytes entries, Bytes strings, Bytes versions = {}, Bytes definitions = {})
      : entries_(entries), strings_(strings), versions_(versions), definitions_(definitions) {}

  size_t size() const { return entries_.size() / sizeof(Elf64_Sym); }
  Elf64_Sym operator[](size_t index) const;
  // Without @VERSION; empty when the offset is bad or the name longer than kMaxName.
  std::string_view name(const Elf64_Sym& symbol) const;
  // The same as name(symbol) == wanted for a wanted name that is not empty, without looking for its
  // end.
  bool name_is(const Elf64_Sym& symbol, std::string_view wanted) const;

  bool starts_with(const Elf64_Sym& symbol, std::string_view start) const;
  // A version that only programs linked long ago ask for: memcpy@GLIBC_2.2.5 beside the default
  // memcpy@@GLIBC_2.14. A dynamic table says so in .gnu.version, the others in the name.
  bool is_old_version(size_t index) const;
  // "GLIBC_2.2.5"; empty: the symbol has none.
  std::string_view version(size_t index) const;

  static constexpr size_t kMaxName = 16384;

 private:
  Bytes entries_;
  Bytes strings_;
  Bytes versions_;     // of a dynamic table: one Elf64_Versym a symbol
  Bytes definitions_;  // and what the numbers in them mean: a list of Elf64_Verdef
};

class ElfImage {
 public:
  // `file` must outlive the image. EINVAL with a sentence when it is not an x86-64 ELF object.
  static Result<ElfImage> from_file(Bytes file);
  // An object of this process, mapped at `bias`. It has no sections. The object must stay loaded.
  static ElfImage from_memory(std::vector<Elf64_Phdr> segments, uint64_t bias);
  // A copy of such an object: `copy` holds what lay at ELF address `first` and behind it.
  static ElfImage from_copy(Bytes copy, uint64_t first, std::vector<Elf64_Phdr> segments,
                            uint64_t bias);

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* find_section(std::string_view name) const;
  // Whether a symbol's section is loaded, so that its value is an address. An image without
  // sections has no other symbols.
  bool is_loaded(size_t section) const {
    return sections_.empty() ||
           (section < sections_.size() && (sections_[section].flags & SHF_ALLOC));
  }
  // Empty for a section without bytes in the file.
  Bytes section_bytes(const ElfSection& section) const;
  // From an ELF address to the end of the segment that holds it; empty when there are no such
  // bytes.
  Bytes at(uint64_t address) const;

  bool is_executable(uint64_t address) const;
  // In a section that the static linker made for calls into other objects.
  bool is_plt(uint64_t address) const;

  // Relocation will write into its text.
  bool has_text_relocations() const;
  // What PT_DYNAMIC names as DT_RELA and DT_RELR; empty when there is none.
  Bytes relocations() const;
  Bytes packed_relocations() const;
  // The pointer that stands there, as an ELF address, whether or not the dynamic linker has
  // relocated it. False: nothing is there.
  bool pointer_at(uint64_t address, uint64_t* value) const;
  std::string build_id() const;  // hex; empty when there is none
  std::string soname() const;
  std::vector<std::string> needed_libraries() const;  // what its DT_NEEDED entries name
  ElfSymbols symtab() const;                          // .symtab; empty in a stripped file
  ElfSymbols dynsym() const;                          // by its section, else through PT_DYNAMIC

 private:
  ElfImage() = default;
  void read_segments(const Elf64_Ehdr& header);
  void read_sections(const Elf64_Ehdr& header);
  Bytes file_range(uint64_t offset, uint64_t size) const;
  ElfSymbols symbols_of_type(uint32_t type) const;
  Bytes dynamic_versions() const;
  Bytes version_definitions() const;
  // The values that PT_DYNAMIC has for a tag, in order.
  std::vector<uint64_t> dynamic_values(int64_t tag) const;
  // The first of them; false when there is none.
  bool dynamic_value(int64_t tag, uint64_t* value) const;
  // The same for a pointer: an ELF address, whether or not the dynamic linker has relocated it.
  bool dynamic_address(int64_t tag, uint64_t* address) const;
  Bytes dynamic_table(int64_t tag, int64_t size_tag) const;
  size_t count_dynamic_symbols() const;
  size_t count_by_gnu_hash(uint64_t table) const;

  Bytes file_;
  bool in_memory_ = false;
  uint64_t bias_ = 0;  // what the dynamic linker may have added to pointers; 0 in a file
  std::vector<Elf64_Phdr> segments_;
  std::vector<ElfSection> sections_;
  std::vector<std::pair<uint64_t, uint64_t>> plt_ranges_;  // address, size
};

// The build-id in a note segment or section; empty when it has none.
std::string build_id_of_notes(Bytes notes, uint64_t alignment);

}  // namespace patchbay
