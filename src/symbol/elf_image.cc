// SPDX-License-Identifier: MIT
#include "symbol/elf_image.h"

#include <algorithm>

#include "symbol/byte_reader.h"

namespace patchbay {
namespace {

constexpr size_t kMaxSegments = 4096;
constexpr size_t kMaxSections = 65536;

std::string hex_of(Bytes bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// The C string at `offset`; empty when it has no end within `limit` bytes.
std::string_view string_at(Bytes strings, uint64_t offset, size_t limit) {
  if (offset >= strings.size()) return {};
  const char* start = reinterpret_cast<const char*>(strings.data()) + offset;
  size_t available = std::min<size_t>(strings.size() - offset, limit);
  const void* end = std::memchr(start, 0, available);
  if (!end) return {};
  return {start, size_t(static_cast<const char*>(end) - start)};
}

bool contains(uint64_t start, uint64_t size, uint64_t address) {
  return address >= start && address - start < size;
}

}  // namespace

// --- symbols

Elf64_Sym ElfSymbols::operator[](size_t index) const {
  Elf64_Sym symbol{};
  if (index < size()) {
    std::memcpy(&symbol, entries_.data() + index * sizeof symbol, sizeof symbol);
  }
  return symbol;
}

std::string_view ElfSymbols::name(const Elf64_Sym& symbol) const {
  std::string_view name = string_at(strings_, symbol.st_name, kMaxName);
  size_t version = name.find('@');
  return version == 0 ? name : name.substr(0, version);
}

bool ElfSymbols::name_is(const Elf64_Sym& symbol, std::string_view wanted) const {
  if (symbol.st_name >= strings_.size()) return false;
  size_t available = strings_.size() - symbol.st_name;
  if (available <= wanted.size()) return false;
  const uint8_t* start = strings_.data() + symbol.st_name;
  uint8_t end = start[wanted.size()];
  return (end == 0 || end == '@') && std::memcmp(start, wanted.data(), wanted.size()) == 0;
}

bool ElfSymbols::starts_with(const Elf64_Sym& symbol, std::string_view start) const {
  if (symbol.st_name >= strings_.size()) return false;
  if (strings_.size() - symbol.st_name < start.size()) return false;
  return start.empty() ||
         std::memcmp(strings_.data() + symbol.st_name, start.data(), start.size()) == 0;
}

bool ElfSymbols::is_old_version(size_t index) const {
  constexpr uint16_t kHidden = 0x8000;  // "symbol is hidden" of the gABI's versioning
  if (versions_.size() / sizeof(Elf64_Versym) > index) {
    Elf64_Versym version = 0;
    std::memcpy(&version, versions_.data() + index * sizeof version, sizeof version);
    return (version & kHidden) != 0;
  }
  const std::string_view whole = string_at(strings_, (*this)[index].st_name, kMaxName);
  const size_t at = whole.find('@');
  return at != 0 && at != whole.npos && !whole.substr(at).starts_with("@@");
}

std::string_view ElfSymbols::version(size_t index) const {
  constexpr uint16_t kNumber = 0x7fff;
  constexpr size_t kMostDefinitions = 0x7fff;
  if (versions_.size() / sizeof(Elf64_Versym) <= index) {
    const std::string_view whole = string_at(strings_, (*this)[index].st_name, kMaxName);
    const size_t at = whole.rfind('@');
    return at == 0 || at == whole.npos ? whole.substr(whole.size()) : whole.substr(at + 1);
  }
  Elf64_Versym wanted = 0;
  std::memcpy(&wanted, versions_.data() + index * sizeof wanted, sizeof wanted);
  Bytes rest = definitions_;
  for (size_t i = 0; i < kMostDefinitions && (wanted & kNumber) > VER_NDX_GLOBAL; i++) {
    Elf64_Verdef definition;
    Elf64_Verdaux name;
    if (rest.size() < sizeof definition) break;
    std::memcpy(&definition, rest.data(), sizeof definition);
    if (definition.vd_ndx == (wanted & kNumber)) {
      if (rest.size() < sizeof name || definition.vd_aux > rest.size() - sizeof name) break;
      std::memcpy(&name, rest.data() + definition.vd_aux, sizeof name);
      return string_at(strings_, name.vda_name, kMaxName);
    }
    if (definition.vd_next == 0 || definition.vd_next > rest.size()) break;
    rest = rest.subspan(definition.vd_next);
  }
  return {};
}

// --- headers and sections

Result<ElfImage> ElfImage::from_file(Bytes file) {
  Elf64_Ehdr header = ByteReader(file).read<Elf64_Ehdr>();
  if (file.size() < sizeof header || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return user_error(EINVAL, "not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64) {
    return user_error(EINVAL, "not an ELF file for x86-64");
  }
  ElfImage image;
  image.file_ = file;
  image.read_segments(header);
  image.read_sections(header);
  return image;
}

ElfImage ElfImage::from_memory(std::vector<Elf64_Phdr> segments, uint64_t bias) {
  ElfImage image;
  image.in_memory_ = true;
  image.bias_ = bias;
  image.segments_ = std::move(segments);
  return image;
}

ElfImage ElfImage::from_copy(Bytes copy, uint64_t first, std::vector<Elf64_Phdr> segments,
                             uint64_t bias) {
  ElfImage image;
  image.file_ = copy;
  image.bias_ = bias;
  image.segments_ = std::move(segments);
  for (Elf64_Phdr& segment : image.segments_) {
    segment.p_offset = segment.p_vaddr - first;
    segment.p_filesz = segment.p_memsz;
  }
  return image;
}

Bytes ElfImage::file_range(uint64_t offset, uint64_t size) const {
  if (offset > file_.size() || size > file_.size() - offset) return {};
  return file_.subspan(offset, size);
}

void ElfImage::read_segments(const Elf64_Ehdr& header) {
  size_t count = std::min<size_t>(header.e_phnum, kMaxSegments);
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return;
  ByteReader reader(file_range(header.e_phoff, count * sizeof(Elf64_Phdr)));
  for (size_t i = 0; i < count; ++i) {
    Elf64_Phdr segment = reader.read<Elf64_Phdr>();
    if (!reader.ok()) return;
    segments_.push_back(segment);
  }
}

void ElfImage::read_sections(const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  // Section 0 holds the true counts when they do not fit in the header.
  Elf64_Shdr first = ByteReader(file_range(header.e_shoff, sizeof first)).read<Elf64_Shdr>();
  size_t count = std::min<uint64_t>(header.e_shnum ? header.e_shnum : first.sh_size, kMaxSections);
  ByteReader reader(file_range(header.e_shoff, count * sizeof(Elf64_Shdr)));
  std::vector<uint32_t> names;
  for (size_t i = 0; i < count; ++i) {
    Elf64_Shdr raw = reader.read<Elf64_Shdr>();
    if (!reader.ok()) break;
    names.push_back(raw.sh_name);
    sections_.push_back({{},
                         raw.sh_type,
                         raw.sh_link,
                         raw.sh_flags,
                         raw.sh_addr,
                         raw.sh_offset,
                         raw.sh_size,
                         raw.sh_entsize});
  }
  size_t names_index = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
  if (names_index >= sections_.size()) return;
  Bytes strings = section_bytes(sections_[names_index]);
  for (size_t i = 0; i < sections_.size(); ++i) {
    ElfSection& section = sections_[i];
    section.name = string_at(strings, names[i], 256);
    if (!(section.flags & SHF_EXECINSTR)) continue;
    if (section.name.starts_with(".plt") || section.name.starts_with(".iplt")) {
      plt_ranges_.emplace_back(section.address, section.size);
    }
  }
}

const ElfSection* ElfImage::find_section(std::string_view name) const {
  for (const ElfSection& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

Bytes ElfImage::section_bytes(const ElfSection& section) const {
  if (section.type == SHT_NOBITS || (section.flags & SHF_COMPRESSED)) return {};
  return file_range(section.offset, section.size);
}

Bytes ElfImage::at(uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    uint64_t size = in_memory_ ? segment.p_memsz : segment.p_filesz;
    if (segment.p_type != PT_LOAD || !contains(segment.p_vaddr, size, address)) continue;
    uint64_t skipped = address - segment.p_vaddr;
    if (in_memory_) {
      if (!(segment.p_flags & PF_R)) return {};
      return {reinterpret_cast<const uint8_t*>(bias_ + address), size - skipped};
    }
    if (segment.p_offset > file_.size()) return {};
    uint64_t present = std::min<uint64_t>(size, file_.size() - segment.p_offset);
    if (skipped >= present) return {};
    return file_.subspan(segment.p_offset + skipped, present - skipped);
  }
  return {};
}

bool ElfImage::is_executable(uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    if (contains(segment.p_vaddr, segment.p_memsz, address)) return true;
  }
  return false;
}

bool ElfImage::is_plt(uint64_t address) const {
  for (auto [start, size] : plt_ranges_) {
    if (contains(start, size, address)) return true;
  }
  return false;
}

// --- notes

std::string build_id_of_notes(Bytes notes, uint64_t alignment) {
  alignment = alignment == 8 ? 8 : 4;
  ByteReader reader(notes);
  auto align = [&] { reader.skip((alignment - reader.position() % alignment) % alignment); };
  while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note = reader.read<Elf64_Nhdr>();
    size_t name = reader.position();
    reader.skip(note.n_namesz);
    align();
    size_t description = reader.position();
    reader.skip(note.n_descsz);
    if (!reader.ok()) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 64 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      return hex_of(notes.subspan(description, note.n_descsz));
    }
    align();
  }
  return "";
}

std::string ElfImage::build_id() const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    // The segments of a separate debug file name addresses, but their bytes are in the sections.
    Bytes bytes = in_memory_ ? at(segment.p_vaddr) : file_range(segment.p_offset, segment.p_filesz);
    if (bytes.size() > segment.p_memsz) bytes = bytes.first(segment.p_memsz);
    std::string id = build_id_of_notes(bytes, segment.p_align);
    if (!id.empty()) return id;
  }
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    std::string id = build_id_of_notes(section_bytes(section), 4);
    if (!id.empty()) return id;
  }
  return "";
}

// --- symbol tables

ElfSymbols ElfImage::symbols_of_type(uint32_t type) const {
  for (const ElfSection& section : sections_) {
    if (section.type != type || section.entry_size != sizeof(Elf64_Sym)) continue;
    if (section.link >= sections_.size()) continue;
    return {section_bytes(section), section_bytes(sections_[section.link]),
            type == SHT_DYNSYM ? dynamic_versions() : Bytes(),
            type == SHT_DYNSYM ? version_definitions() : Bytes()};
  }
  return {};
}

Bytes ElfImage::dynamic_versions() const {
  uint64_t table = 0;
  return dynamic_address(DT_VERSYM, &table) ? at(table) : Bytes();
}

Bytes ElfImage::version_definitions() const {
  uint64_t list = 0;
  return dynamic_address(DT_VERDEF, &list) ? at(list) : Bytes();
}

ElfSymbols ElfImage::symtab() const { return symbols_of_type(SHT_SYMTAB); }

ElfSymbols ElfImage::dynsym() const {
  ElfSymbols by_section = symbols_of_type(SHT_DYNSYM);
  if (by_section.size() > 0) return by_section;
  uint64_t table = 0, strings = 0, strings_size = 0;
  if (!dynamic_address(DT_SYMTAB, &table) || !dynamic_address(DT_STRTAB, &strings) ||
      !dynamic_value(DT_STRSZ, &strings_size)) {
    return {};
  }
  Bytes entries = at(table);
  Bytes names = at(strings);
  size_t count = std::min(count_dynamic_symbols(), entries.size() / sizeof(Elf64_Sym));
  return {entries.first(count * sizeof(Elf64_Sym)),
          names.first(std::min<uint64_t>(strings_size, names.size())), dynamic_versions(),
          version_definitions()};
}

std::vector<uint64_t> ElfImage::dynamic_values(int64_t tag) const {
  std::vector<uint64_t> values;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    Bytes bytes = at(segment.p_vaddr);
    ByteReader reader(bytes.first(std::min<uint64_t>(bytes.size(), segment.p_memsz)));
    while (reader.remaining() >= sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry = reader.read<Elf64_Dyn>();
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == tag) values.push_back(entry.d_un.d_val);
    }
  }
  return values;
}

bool ElfImage::dynamic_value(int64_t tag, uint64_t* value) const {
  const std::vector<uint64_t> values = dynamic_values(tag);
  if (!values.empty()) *value = values.front();
  return !values.empty();
}

bool ElfImage::dynamic_address(int64_t tag, uint64_t* address) const {
  if (!dynamic_value(tag, address)) return false;
  // glibc adds the bias to the pointers of most objects in place, but not to those of the vdso.
  if (bias_ != 0 && at(*address).empty()) *address -= bias_;
  return true;
}

Bytes ElfImage::dynamic_table(int64_t tag, int64_t size_tag) const {
  uint64_t table = 0, size = 0;
  if (!dynamic_address(tag, &table) || !dynamic_value(size_tag, &size)) return {};
  const Bytes bytes = at(table);
  return bytes.first(std::min<uint64_t>(bytes.size(), size));
}

Bytes ElfImage::relocations() const { return dynamic_table(DT_RELA, DT_RELASZ); }
Bytes ElfImage::packed_relocations() const { return dynamic_table(DT_RELR, DT_RELRSZ); }

bool ElfImage::pointer_at(uint64_t address, uint64_t* value) const {
  ByteReader reader(at(address));
  *value = reader.read<uint64_t>();
  if (bias_ != 0 && *value >= bias_) *value -= bias_;
  return reader.ok();
}

bool ElfImage::has_text_relocations() const {
  uint64_t value = 0;
  if (dynamic_value(DT_TEXTREL, &value)) return true;
  return dynamic_value(DT_FLAGS, &value) && (value & DF_TEXTREL);
}

// The dynamic symbol table has no size of its own; the hash tables know it.
size_t ElfImage::count_dynamic_symbols() const {
  uint64_t table = 0;
  if (dynamic_address(DT_HASH, &table)) {
    ByteReader reader(at(table));
    reader.read<uint32_t>();         // buckets
    return reader.read<uint32_t>();  // chains, one a symbol
  }
  if (dynamic_address(DT_GNU_HASH, &table)) return count_by_gnu_hash(table);
  return 0;
}

size_t ElfImage::count_by_gnu_hash(uint64_t table) const {
  Bytes bytes = at(table);
  ByteReader reader(bytes);
  uint32_t bucket_count = reader.read<uint32_t>();
  uint32_t first_hashed = reader.read<uint32_t>();
  uint32_t bloom_words = reader.read<uint32_t>();
  reader.read<uint32_t>();  // the bloom filter's shift
  reader.skip(uint64_t(bloom_words) * 8);
  uint32_t last = 0;
  for (uint32_t i = 0; i < bucket_count && reader.ok(); ++i) {
    last = std::max(last, reader.read<uint32_t>());
  }
  if (!reader.ok() || last < first_hashed) return first_hashed;
  // The last bucket's chain ends with an odd hash; the symbol there is the last one.
  reader.skip(uint64_t(last - first_hashed) * 4);
  while (reader.ok() && !(reader.read<uint32_t>() & 1)) ++last;
  return reader.ok() ? size_t(last) + 1 : 0;
}

std::string ElfImage::soname() const {
  uint64_t strings = 0, offset = 0;
  if (!dynamic_address(DT_STRTAB, &strings) || !dynamic_value(DT_SONAME, &offset)) return "";
  return std::string(string_at(at(strings), offset, 4096));
}

std::vector<std::string> ElfImage::needed_libraries() const {
  std::vector<std::string> names;
  uint64_t strings = 0;
  if (!dynamic_address(DT_STRTAB, &strings)) return names;
  for (const uint64_t offset : dynamic_values(DT_NEEDED)) {
    const std::string_view name = string_at(at(strings), offset, 4096);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace patchbay
