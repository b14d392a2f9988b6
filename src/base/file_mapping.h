// SPDX-License-Identifier: MIT
//
// A whole file, mapped to be read. It may be anybody's: foreign_file.h says what is opened, and
// mapped_files.h what happens when it is cut short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/mapped_files.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/unpacked_bytes.h"

namespace patchbay {

class FileMapping {
 public:
  FileMapping() = default;
  // Memory of our own in the place of a file; `held`: where it was unpacked.
  explicit FileMapping(Mapping memory, UnpackedBytes held = {})
      : memory_(std::move(memory)), size_(memory_.size()), held_(std::move(held)) {}
  FileMapping(FileMapping&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        file_(std::exchange(other.file_, nullptr)),
        held_(std::move(other.held_)) {}
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping() { reset(); }

  // An empty file gives an empty mapping.
  static Result<FileMapping> open(const std::string& path);
  // The same for libraries that write into what they read, or look for the end of a text: what is
  // written stays here, and a page of zeros stands behind the file.
  static Result<FileMapping> open_private(const std::string& path);
  // For a private one: what was read there stays, whatever becomes of the file. Its pages are
  // copied.
  void keep(uint64_t offset, uint64_t bytes);

  // What a library unpacks of it is held as long as the file is.
  void hold(UnpackedBytes more) { held_.add(std::move(more)); }

  uint8_t* data() const { return memory_.data(); }
  size_t size() const { return size_; }
  std::span<const uint8_t> bytes() const { return {data(), size_}; }
  void reset();

 private:
  FileMapping(Mapping memory, size_t size, NotedFile* file)
      : memory_(std::move(memory)), size_(size), file_(file) {}

  Mapping memory_;  // whole pages
  size_t size_ = 0;
  NotedFile* file_ = nullptr;  // null: it is memory
  UnpackedBytes held_;
};

}  // namespace patchbay
