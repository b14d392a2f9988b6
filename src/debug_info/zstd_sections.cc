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

constexpr uint32_t kZlib = ELFCOMPRESS_ZLIB, kZstd = 2;  // ELFCOMPRESS_ZSTD
constexpr uint64_t kMostRatio = 4096;                    // of one section
constexpr uint64_t kAlign = 16, kPage = 4096;

struct Packed {
  uint64_t header = 0;  // where its section header is
  Elf64_Shdr section{};
  uint32_t type = 0;
  uint64_t size = 0, place = 0;  // unpacked
};

template <typename T>
bool read_at(Bytes file, uint64_t offset, T* value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(value, file.data() + offset, sizeof(T));
  return true;
}

// Whether the section header at `offset` is one of a section that is packed; older compilers pack
// by zlib without a flag.
bool is_packed(Bytes file, uint64_t offset, Packed* packed) {
  Elf64_Chdr head;
  const Elf64_Shdr& section = packed->section;
  packed->header = offset;
  if (!read_at(file, offset, &packed->section) || section.sh_type == SHT_NOBITS) return false;
  const bool is_inside = section.sh_offset <= file.size() &&
                         section.sh_size <= file.size() - section.sh_offset &&
                         section.sh_size > sizeof head;
  if (!is_inside) return false;
  if (section.sh_flags & SHF_COMPRESSED) {
    if (!read_at(file, section.sh_offset, &head)) return false;
    packed->type = head.ch_type;
    packed->size = head.ch_size;
    return true;
  }
  struct {
    char magic[4];
    uint8_t size[8];  // the highest byte first
  } old;
  if ((section.sh_flags & SHF_ALLOC) || !read_at(file, section.sh_offset, &old) ||
      std::memcmp(old.magic, "ZLIB", sizeof old.magic) != 0)
    return false;
  packed->type = kZlib;
  for (const uint8_t byte : old.size) packed->size = packed->size << 8 | byte;
  return true;
}

// `type`: 0 for all. A file with more sections than compilers make is one that cannot be unpacked.
std::vector<Packed> packed_sections(Bytes file, uint32_t type) {
  constexpr uint64_t kMostSections = 1 << 16;
  std::vector<Packed> found;
  Elf64_Ehdr header;
  Elf64_Shdr first = {};
  if (!read_at(file, 0, &header) || header.e_shentsize != sizeof(Elf64_Shdr)) return found;
  uint64_t count = header.e_shnum;
  if (count == 0 && header.e_shoff && read_at(file, header.e_shoff, &first)) count = first.sh_size;
  if (count > kMostSections) return {Packed{.type = type, .size = UINT64_MAX}};
  for (uint64_t i = 0; i < count; i++) {
    Packed packed;
    if (is_packed(file, header.e_shoff + i * sizeof(Elf64_Shdr), &packed) &&
        (type == 0 || packed.type == type))
      found.push_back(packed);
  }
  return found;
}

// The right to unpack them; what one says of its size may be a lie.
Result<UnpackedBytes> take_bytes(const std::string& path, const std::vector<Packed>& sections) {
  const uint64_t most = UnpackedBytes::most();
  uint64_t bytes = 0;
  bool is_possible = true;
  for (const Packed& one : sections) {
    is_possible &= one.size <= most && one.size / kMostRatio <= one.section.sh_size;
    bytes += std::min(one.size, most);
  }
  std::optional<UnpackedBytes> taken = UnpackedBytes::take(bytes, most);
  if (taken && is_possible) return std::move(*taken);
  return user_error(EFBIG, path + " has packed sections of " + std::to_string(bytes) +
                               " bytes: with what is unpacked already that is too much.");
}

}  // namespace

Result<UnpackedBytes> take_zlib_bytes(const std::string& path, const FileMapping& file) {
  return take_bytes(path, packed_sections(file.bytes(), kZlib));
}

Result<UnpackedBytes> take_packed_bytes(const std::string& path, Bytes file) {
  return take_bytes(path, packed_sections(file, 0));
}

Result<std::optional<FileMapping>> with_zstd_unpacked(const std::string& path,
                                                      const FileMapping& file) {
  std::vector<Packed> sections = packed_sections(file.bytes(), kZstd);
  if (sections.empty()) return std::optional<FileMapping>();
  PB_ASSIGN(UnpackedBytes held, take_bytes(path, sections));
  uint64_t size = (file.size() + kAlign - 1) / kAlign * kAlign;
  for (Packed& one : sections) {
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
  return std::optional<FileMapping>(FileMapping(std::move(memory), std::move(held)));
}

}  // namespace patchbay
