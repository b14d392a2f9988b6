// SPDX-License-Identifier: MIT
#include "attach/process_maps.h"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/foreign_file.h"
#include "symbol/elf_image.h"

namespace patchbay::attach {
namespace {

Bytes bytes_of(const std::string& file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

std::vector<Elf64_Phdr> segments_of(const std::string& file) {
  Elf64_Ehdr header = {};
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const uint64_t size = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phoff > file.size() || size > file.size() - header.e_phoff) return {};
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (size) std::memcpy(segments.data(), file.data() + header.e_phoff, size);
  return segments;
}

}  // namespace

std::vector<MapLine> read_maps(pid_t pid) {
  std::vector<MapLine> lines;
  const auto file = read_file("/proc/" + std::to_string(pid) + "/maps");
  const std::string& text = file.ok() ? file.value() : "";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    unsigned long long start = 0, stop = 0, offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    char access[8] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %x:%x %llu %n", &start, &stop, access,
                    &offset, &major, &minor, &inode, &name) < 7)
      continue;
    lines.push_back({{start, stop},
                     offset,
                     uint64_t{major} << 32 | minor,
                     inode,
                     access[2] == 'x',
                     line.substr(size_t(name))});
  }
  return lines;
}

const MapLine* line_at(const std::vector<MapLine>& lines, uint64_t address) {
  for (const MapLine& line : lines)
    if (line.range.contains(address)) return &line;
  return nullptr;
}

constexpr uint64_t kMostLibrary = 64 << 20;  // a libc with all its debugging symbols has 20 MB

Result<std::string> read_library_file(const std::string& path) {
  return read_foreign_file(path, kMostLibrary);
}

Result<Module> Module::find(pid_t pid, const std::vector<MapLine>& lines,
                            const std::function<bool(const MapLine&)>& fits) {
  Module module;
  const MapLine* first = nullptr;
  for (const MapLine& line : lines) {
    // By its code: a program, and an agent in it, may map the file to read it as well.
    if (!line.is_code) continue;
    if (first ? line.inode != first->inode || line.device != first->device : !fits(line)) continue;
    if (!first) first = &line;
    module.code_.push_back(line.range);
  }
  if (!first) return user_error(ENOENT, "there is no such library in it");
  // By the mapping and not by the name: the file may be another one by now, or out of reach.
  char name[64];
  std::snprintf(name, sizeof name, "/map_files/%llx-%llx", (unsigned long long)first->range.start,
                (unsigned long long)first->range.end);
  const std::string process = "/proc/" + std::to_string(pid);
  auto file = read_library_file(process + name);
  if (!file.ok()) file = read_in_root(process + "/root", first->name, kMostLibrary);
  if (!file.ok())
    return user_error(ENOEXEC, "the file of " + first->name + " in process " + std::to_string(pid) +
                                   " cannot be used: " + file.error().message());
  module.file_ = std::move(*file);
  PB_TRY(module.place(first->range.start, first->offset));
  return module;
}

Status Module::place(uint64_t first_start, uint64_t first_offset) {
  PB_TRY(ElfImage::from_file(bytes_of(file_)));
  for (const Elf64_Phdr& segment : segments_of(file_)) {
    constexpr uint64_t kPageMask = ~uint64_t{4095};
    const bool has_it = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
                        first_offset >= (segment.p_offset & kPageMask) &&
                        first_offset - (segment.p_offset & kPageMask) < segment.p_filesz;
    if (!has_it) continue;
    bias_ = first_start - first_offset - (segment.p_vaddr - segment.p_offset);
    return {};
  }
  return user_error(ENOEXEC, "a library of the process has no code where it is mapped");
}

uint64_t Module::function(std::string_view name) const {
  const auto image = ElfImage::from_file(bytes_of(file_));
  if (!image.ok()) return 0;
  const ElfSymbols symbols = image.value().dynsym();
  for (size_t i = 0; i < symbols.size(); i++) {
    const Elf64_Sym symbol = symbols[i];
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
        symbols.name_is(symbol, name))
      return bias_ + symbol.st_value;
  }
  return 0;
}

uint64_t Module::code_bytes(std::string_view bytes) const {
  for (const Elf64_Phdr& segment : segments_of(file_)) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || segment.p_offset > file_.size())
      continue;
    const std::string_view code =
        std::string_view(file_).substr(segment.p_offset, segment.p_filesz);
    if (const size_t at = code.find(bytes); at != code.npos) return bias_ + segment.p_vaddr + at;
  }
  return 0;
}

std::string_view Module::file_bytes(uint64_t address, size_t size) const {
  for (const Elf64_Phdr& segment : segments_of(file_)) {
    const uint64_t offset = address - bias_ - segment.p_vaddr;
    const uint64_t at = segment.p_offset + offset;
    if (segment.p_type == PT_LOAD && offset < segment.p_filesz && at < file_.size() &&
        size <= file_.size() - at)
      return std::string_view(file_).substr(at, size);
  }
  return {};
}

std::string Module::build_id() const {
  const auto image = ElfImage::from_file(bytes_of(file_));
  return image.ok() ? image.value().build_id() : "";
}

}  // namespace patchbay::attach
