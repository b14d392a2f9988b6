// SPDX-License-Identifier: MIT
//
//   | the file, with other section headers | .debug_info | .debug_str | …      each at 16 bytes
#include "debug_info/zstd_sections.h"

#include <elf.h>
#include <sys/mman.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace patchbay {
namespace {

constexpr uint32_t kZstd = 2;                       // ELFCOMPRESS_ZSTD
constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // of all sections, unpacked
constexpr uint64_t kMostRatio = 4096;               // of one: no file of 1 KB takes all memory
constexpr uint64_t kAlign = 16, kPage = 4096;

struct Packed {
  uint64_t header = 0;  // where its section header is
  Elf64_Shdr section{};
  uint64_t size = 0, place = 0;  // unpacked
};

template <typename T>
bool read_at(const FileMapping& file, uint64_t offset, T* value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(value, file.data() + offset, sizeof(T));
  return true;
}

// Whether the section header at `offset` is one of a section that zstd has packed.
bool is_packed(const FileMapping& file, uint64_t offset, Packed* packed) {
  Elf64_Chdr head;
  const Elf64_Shdr& section = packed->section;
  packed->header = offset;
  if (!read_at(file, offset, &packed->section)) return false;
  if (!(section.sh_flags & SHF_COMPRESSED) || section.sh_type == SHT_NOBITS) return false;
  const bool is_inside = section.sh_offset <= file.size() &&
                         section.sh_size <= file.size() - section.sh_offset &&
                         section.sh_size > sizeof head;
  if (!is_inside || !read_at(file, section.sh_offset, &head) || head.ch_type != kZstd) return false;
  packed->size = head.ch_size;
  return true;
}

std::vector<Packed> packed_sections(const FileMapping& file) {
  constexpr uint64_t kMostSections = 1 << 16;
  std::vector<Packed> found;
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header) || header.e_shentsize != sizeof(Elf64_Shdr)) return found;
  for (uint64_t i = 0; i < std::min<uint64_t>(header.e_shnum, kMostSections); i++) {
    Packed packed;
    if (is_packed(file, header.e_shoff + i * sizeof(Elf64_Shdr), &packed)) found.push_back(packed);
  }
  return found;
}

}  // namespace

Result<std::optional<FileMapping>> with_zstd_unpacked(const std::string& path,
                                                      const FileMapping& file) {
  std::vector<Packed> sections = packed_sections(file);
  if (sections.empty()) return std::optional<FileMapping>();
  uint64_t size = (file.size() + kAlign - 1) / kAlign * kAlign, unpacked = 0;
  for (Packed& one : sections) {
    unpacked += std::min(one.size, kMostBytes);
    if (one.size / kMostRatio > one.section.sh_size || unpacked > kMostBytes)
      return user_error(EFBIG, path + " has sections that are packed by zstd, of " +
                                   std::to_string(one.size) + " bytes: that is too much.");
    one.place = size;
    size += (one.size + kAlign - 1) / kAlign * kAlign;
  }
  // A page of zeros stands behind it, as behind every file.
  void* pages =
      ::mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return sys_error("unpack " + path, errno);
  Mapping memory(pages, size + kPage);
  std::memcpy(memory.data(), file.data(), file.size());
  for (const Packed& one : sections) {
    const uint8_t* from = file.data() + one.section.sh_offset + sizeof(Elf64_Chdr);
    const size_t got = ::ZSTD_decompress(memory.data() + one.place, one.size, from,
                                         one.section.sh_size - sizeof(Elf64_Chdr));
    if (::ZSTD_isError(got) || got != one.size)
      return user_error(EINVAL, path + " has a section that is packed by zstd and damaged.");
    Elf64_Shdr made = one.section;
    made.sh_flags &= ~uint64_t{SHF_COMPRESSED};
    made.sh_offset = one.place;
    made.sh_size = one.size;
    made.sh_addralign = 1;
    std::memcpy(memory.data() + one.header, &made, sizeof made);
  }
  return std::optional<FileMapping>(FileMapping(std::move(memory)));
}

}  // namespace patchbay
