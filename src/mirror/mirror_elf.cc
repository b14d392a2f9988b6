// SPDX-License-Identifier: MIT
#include "mirror/mirror_elf.h"

#include <elf.h>

#include <cerrno>
#include <cstring>

namespace patchbay {
namespace {

constexpr uint64_t kBaseAt = 0x480, kNoteAt = 0x500, kTablesAt = 0x1040;
constexpr uint64_t kSemaphoreBytes = 16;
// 5-byte nop: the form that kernels since 6.18 make a call of, instead of a breakpoint.
constexpr uint8_t kStub[] = {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3};

using Bytes = std::vector<uint8_t>;

template <typename T>
void put(Bytes* out, uint64_t at, const T& value) {
  if (out->size() < at + sizeof value) out->resize(at + sizeof value);
  std::memcpy(out->data() + at, &value, sizeof value);
}
void put_text(Bytes* out, uint64_t at, std::string_view text) {
  if (out->size() < at + text.size()) out->resize(at + text.size());
  std::memcpy(out->data() + at, text.data(), text.size());
}

// The note; sdt_notes.h has its drawing.
std::string note_bytes(std::string_view system, std::string_view event,
                       std::string_view arguments) {
  const uint64_t places[] = {kMirrorStubAt, kBaseAt, kMirrorSemaphoreAt};
  std::string descriptor(reinterpret_cast<const char*>(places), sizeof places);
  for (std::string_view text : {system, event, arguments}) descriptor.append(text).push_back('\0');
  constexpr char kOwner[8] = "stapsdt";
  const Elf64_Nhdr head = {sizeof kOwner, uint32_t(descriptor.size()), 3};
  std::string note(reinterpret_cast<const char*>(&head), sizeof head);
  note.append(kOwner, sizeof kOwner).append(descriptor);
  note.resize((note.size() + 3) & ~size_t{3});
  return note;
}

Elf64_Ehdr elf_header(uint64_t sections_at, uint16_t nr_sections) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 4;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = nr_sections;
  header.e_shstrndx = uint16_t(nr_sections - 1);
  return header;
}

void put_segments(Bytes* out, uint64_t note_size) {
  const Elf64_Phdr segments[] = {
      {PT_LOAD, PF_R | PF_X, 0, 0, 0, kMirrorPage, kMirrorPage, kMirrorPage},
      {PT_LOAD, PF_R | PF_W, kMirrorSemaphoreAt, kMirrorSemaphoreAt, kMirrorSemaphoreAt,
       kSemaphoreBytes, kSemaphoreBytes, kMirrorPage},
      {PT_NOTE, PF_R, kNoteAt, kNoteAt, kNoteAt, note_size, note_size, 4},
      {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16},
  };
  put(out, sizeof(Elf64_Ehdr), segments);
}

// Names, and the offset of each.
class StringTable {
 public:
  uint32_t add(std::string_view name) {
    const auto at = uint32_t(bytes_.size());
    bytes_.append(name).push_back('\0');
    return at;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

// bcc looks for .probes, and from there on for the notes.
enum Section : uint16_t { kNull, kText, kBase, kProbes, kNote, kSymbols, kStrings, kNames, kCount };

// The stub's symbol has the event's name: perf and addr2line say it.
void put_tables(Bytes* out, std::string_view event, uint64_t note_size) {
  StringTable strings, names;
  const Elf64_Sym symbols[] = {
      {},
      {strings.add(event), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), STV_DEFAULT, kText, kMirrorStubAt,
       sizeof kStub},
  };
  Elf64_Shdr sections[kCount] = {};
  sections[kText] = {names.add(".text"),
                     SHT_PROGBITS,
                     SHF_ALLOC | SHF_EXECINSTR,
                     kMirrorStubAt,
                     kMirrorStubAt,
                     sizeof kStub,
                     0,
                     0,
                     16,
                     0};
  sections[kBase] = {
      names.add(".stapsdt.base"), SHT_PROGBITS, SHF_ALLOC, kBaseAt, kBaseAt, 1, 0, 0, 1, 0};
  sections[kNote] = {
      names.add(".note.stapsdt"), SHT_NOTE, SHF_ALLOC, kNoteAt, kNoteAt, note_size, 0, 0, 4, 0};
  sections[kProbes] = {names.add(".probes"),
                       SHT_PROGBITS,
                       SHF_ALLOC | SHF_WRITE,
                       kMirrorSemaphoreAt,
                       kMirrorSemaphoreAt,
                       kSemaphoreBytes,
                       0,
                       0,
                       16,
                       0};
  uint64_t at = kTablesAt;
  put(out, at, symbols);
  sections[kSymbols] = {names.add(".symtab"), SHT_SYMTAB, 0, 0, at,
                        sizeof symbols,       kStrings,   1, 8, sizeof(Elf64_Sym)};
  at += sizeof symbols;
  put_text(out, at, strings.bytes());
  sections[kStrings] = {names.add(".strtab"),   SHT_STRTAB, 0, 0, at,
                        strings.bytes().size(), 0,          0, 1, 0};
  at += strings.bytes().size();
  const uint32_t own_name = names.add(".shstrtab");
  put_text(out, at, names.bytes());
  sections[kNames] = {own_name, SHT_STRTAB, 0, 0, at, names.bytes().size(), 0, 0, 1, 0};
  at = (at + names.bytes().size() + 7) & ~uint64_t{7};
  put(out, at, sections);
  put(out, 0, elf_header(at, kCount));
}

}  // namespace

[[gnu::cold]] Result<std::vector<uint8_t>> mirror_elf(std::string_view system,
                                                      std::string_view event,
                                                      std::string_view arguments) {
  const std::string note = note_bytes(system, event, arguments);
  if (kNoteAt + note.size() > kMirrorPage)
    return user_error(E2BIG, "the names of the event and its fields are too long for a probe");
  Bytes out(kTablesAt);
  put_segments(&out, note.size());
  put(&out, kMirrorStubAt, kStub);
  put_text(&out, kNoteAt, note);
  put_tables(&out, event, note.size());
  return out;
}

}  // namespace patchbay
