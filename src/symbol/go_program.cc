// SPDX-License-Identifier: MIT
#include "symbol/go_program.h"

#include <algorithm>
#include <cstring>

namespace patchbay {
namespace {

bool is_go_note(Bytes note) {
  Elf64_Nhdr head;
  constexpr char kOwner[4] = "Go";
  if (note.size() < sizeof head + sizeof kOwner) return false;
  std::memcpy(&head, note.data(), sizeof head);
  return head.n_namesz == sizeof kOwner &&
         std::memcmp(note.data() + sizeof head, kOwner, sizeof kOwner) == 0;
}

bool has_build_info(Bytes data) {
  const size_t size = std::min<size_t>(data.size(), kMostGoSearch);
  for (size_t at = 0; at + kGoBuildInfo.size() <= size; at += 16)
    if (std::memcmp(data.data() + at, kGoBuildInfo.data(), kGoBuildInfo.size()) == 0) return true;
  return false;
}

}  // namespace

bool is_go_image(const ElfImage& image) {
  if (image.find_section(".gopclntab") || image.find_section(".go.buildinfo")) return true;
  return std::any_of(
      image.segments().begin(), image.segments().end(), [&](const Elf64_Phdr& segment) {
        if (segment.p_type == PT_NOTE) return is_go_note(image.at(segment.p_vaddr));
        return segment.p_type == PT_LOAD && has_build_info(image.at(segment.p_vaddr));
      });
}

bool is_go_without_libc(const ElfImage& image) {
  return image.needed_libraries().empty() && is_go_image(image);
}

}  // namespace patchbay
