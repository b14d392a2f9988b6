// SPDX-License-Identifier: MIT
#include "symbol/sdt_notes.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "symbol/byte_reader.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr uint32_t kTypeStapsdt = 3;
constexpr size_t kMaxNameLength = 200;
constexpr size_t kMaxArgumentsLength = 2048;

// A text with its NUL from the start of `rest`; null data when there is none.
std::string_view take_text(std::string_view* rest) {
  const size_t end = rest->find('\0');
  if (end == std::string_view::npos) return {};
  std::string_view text = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return text;
}

std::string c_name(std::string_view text) {
  std::string name;
  for (const char c : text) c == '-' ? name += "__" : name += c;
  return name;
}

bool is_name(std::string_view text) {
  auto good = [](char c) { return is_name_char(c); };
  return !text.empty() && text.size() <= kMaxNameLength &&
         std::all_of(text.begin(), text.end(), good);
}

bool is_writable(const ElfImage& image, uint64_t address) {
  return std::any_of(image.segments().begin(), image.segments().end(), [&](const Elf64_Phdr& s) {
    return s.p_type == PT_LOAD && (s.p_flags & PF_W) && address >= s.p_vaddr && s.p_memsz >= 2 &&
           address - s.p_vaddr <= s.p_memsz - 2;
  });
}

// False when something is wrong with it.
bool read_descriptor(const ElfImage& image, Bytes descriptor, uint64_t base_now, SdtNote* note) {
  ByteReader reader(descriptor);
  note->address = reader.read<uint64_t>();
  const auto base_linked = reader.read<uint64_t>();
  note->semaphore = reader.read<uint64_t>();
  if (!reader.ok()) return false;
  // prelink moves the object, but not what stands in its notes.
  if (base_now && base_linked) {
    note->address += base_now - base_linked;
    if (note->semaphore) note->semaphore += base_now - base_linked;
  }
  const Bytes texts = descriptor.subspan(reader.position());
  std::string_view rest(reinterpret_cast<const char*>(texts.data()), texts.size());
  note->provider = c_name(take_text(&rest));
  note->name = c_name(take_text(&rest));
  note->arguments = take_text(&rest);
  return is_name(note->provider) && is_name(note->name) &&
         note->arguments.size() <= kMaxArgumentsLength && image.is_executable(note->address) &&
         (!note->semaphore || is_writable(image, note->semaphore));
}

void read_section(const ElfImage& image, Bytes bytes, uint64_t base, std::vector<SdtNote>* notes) {
  ByteReader reader(bytes);
  auto align = [&reader] { reader.skip((4 - reader.position() % 4) % 4); };
  while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto header = reader.read<Elf64_Nhdr>();
    const size_t owner = reader.position();
    reader.skip(header.n_namesz);
    align();
    const size_t descriptor = reader.position();
    reader.skip(header.n_descsz);
    if (!reader.ok()) return;
    SdtNote note;
    const bool is_probe = header.n_type == kTypeStapsdt && header.n_namesz == 8 &&
                          std::memcmp(bytes.data() + owner, "stapsdt", 8) == 0;
    if (is_probe && read_descriptor(image, bytes.subspan(descriptor, header.n_descsz), base, &note))
      notes->push_back(note);
    if (reader.remaining() > 0) align();
  }
}

}  // namespace

std::vector<SdtNote> Module::sdt_notes() { return {}; }

std::vector<SdtNote> read_sdt_notes(const ElfImage& image) {
  std::vector<SdtNote> notes;
  const ElfSection* base = image.find_section(".stapsdt.base");
  for (const ElfSection& section : image.sections()) {
    if (section.type == SHT_NOTE && section.name == ".note.stapsdt")
      read_section(image, image.section_bytes(section), base ? base->address : 0, &notes);
  }
  return notes;
}

}  // namespace patchbay
