// SPDX-License-Identifier: MIT
#include "symbol/function_count.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace patchbay {

namespace {

constexpr uint64_t kHead = 12, kEntry = 8;  // of .eh_frame_hdr, as linkers make it
constexpr size_t kMostSegments = 128;

struct Counted {
  uint64_t start, end, functions;
};

int add_object(dl_phdr_info* info, size_t, void* data) {
  auto* const counted = static_cast<Counted*>(data);
  const auto here = reinterpret_cast<uint64_t>(&add_object);
  const std::span<const Elf64_Phdr> segments(info->dlpi_phdr, info->dlpi_phnum);
  bool is_meant = false;
  for (const Elf64_Phdr& segment : segments) {
    const uint64_t first = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    if (here - first < segment.p_memsz) return 0;
    is_meant |= first < counted->end && first + segment.p_memsz > counted->start;
  }
  if (is_meant) counted->functions += count_functions(segments);
  return 0;
}

}  // namespace

uint64_t count_functions(std::span<const Elf64_Phdr> segments) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_GNU_EH_FRAME && segment.p_memsz > kHead)
      return (segment.p_memsz - kHead) / kEntry;
  return 0;
}

uint64_t count_own_functions(uint64_t start, uint64_t end) {
  Counted counted{start, end, 0};
  ::dl_iterate_phdr(add_object, &counted);
  return counted.functions;
}

uint64_t count_functions_at(uint64_t base, const ReadMemory& read, uint64_t most) {
  Elf64_Ehdr head;
  if (!read(base, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return 0;
  std::vector<Elf64_Phdr> segments(std::min<size_t>(head.e_phnum, kMostSegments));
  if (!read(base + head.e_phoff, segments.data(), segments.size() * sizeof segments[0])) return 0;
  return std::min(count_functions(segments), most);
}

}  // namespace patchbay
