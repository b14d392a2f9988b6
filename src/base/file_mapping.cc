// SPDX-License-Identifier: MIT
#include "base/file_mapping.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/foreign_file.h"

namespace patchbay {
namespace {

constexpr size_t kPage = 4096;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

}  // namespace

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  reset();
  memory_ = std::move(other.memory_);
  size_ = std::exchange(other.size_, 0);
  file_ = std::exchange(other.file_, nullptr);
  held_ = std::move(other.held_);
  return *this;
}

Result<FileMapping> FileMapping::open(const std::string& path) {
  uint64_t bytes = 0;
  PB_ASSIGN(const UniqueFd fd, open_foreign_file(path, kMostMappedFile, &bytes));
  if (bytes == 0) return FileMapping();
  void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) return sys_error("map " + path, errno);
  Mapping memory(at, whole_pages(bytes));
  NotedFile* file = note_mapped_file(memory.data(), memory.size(), path);
  if (!file) return sys_error("map " + path, ENOMEM);
  return FileMapping(std::move(memory), bytes, file);
}

// The room for all is made first, and the file put over it.
Result<FileMapping> FileMapping::open_private(const std::string& path) {
  uint64_t bytes = 0;
  PB_ASSIGN(const UniqueFd fd, open_foreign_file(path, kMostMappedFile, &bytes));
  if (bytes == 0) return FileMapping();
  const size_t all = whole_pages(bytes) + kPage;
  constexpr int kAccess = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_NORESERVE;
  void* room = ::mmap(nullptr, all, kAccess, kFlags | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return sys_error("map " + path, errno);
  Mapping memory(room, all);
  if (::mmap(room, bytes, kAccess, kFlags | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
    return sys_error("map " + path, errno);
  NotedFile* file = note_mapped_file(room, all, path);
  if (!file) return sys_error("map " + path, ENOMEM);
  return FileMapping(std::move(memory), bytes, file);
}

void FileMapping::keep(uint64_t offset, uint64_t bytes) {
  if (offset >= size_) return;
  const uint64_t end = offset + std::min<uint64_t>(bytes, size_ - offset);
  uint8_t copy[kPage];
  for (uint64_t at = offset & ~(kPage - 1); at < end; at += kPage) {
    std::memcpy(copy, data() + at, kPage);
    void* page = ::mmap(data() + at, kPage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (page == MAP_FAILED) return;  // it has stayed the file's
    std::memcpy(page, copy, kPage);
  }
}

void FileMapping::reset() {
  if (file_) forget_mapped_file(std::exchange(file_, nullptr));
  memory_.reset();
  size_ = 0;
  held_.keep(0);
}

}  // namespace patchbay
