// SPDX-License-Identifier: MIT
//
// Where an export goes: a file, or standard output ("-"), as it is or compressed. A file that could
// not be finished (a full disk, an error on the way) is removed: half of it would look like all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "base/result.h"

namespace patchbay {

enum class ExportCompression : uint8_t { kNone, kGzip, kZstd };

class ExportWriter {
 public:
  static Result<std::unique_ptr<ExportWriter>> open(const std::string& path,
                                                    ExportCompression compression);
  ~ExportWriter();  // removes the file unless finish() was fine

  // What is to be written is appended here; flush() when a piece is whole.
  std::string* out() { return &out_; }
  Status flush() { return out_.size() < kPiece ? Status{} : write_piece(); }
  Status put(std::string_view bytes) {
    out_ += bytes;
    return flush();
  }
  Status finish();
  uint64_t bytes() const { return bytes_; }  // written, compressed
  const std::string& path() const { return path_; }

 private:
  static constexpr size_t kPiece = 1 << 18;
  struct Compressor;
  ExportWriter() = default;
  Status write_piece() { return compress(false); }
  Status compress(bool is_last);
  Status write_all(const char* at, size_t size);

  std::string path_, out_, packed_;
  OutputFile file_;  // none: standard output
  int fd_ = -1;
  bool is_file_ = false, finished_ = false;
  uint64_t bytes_ = 0;
  std::unique_ptr<Compressor> compressor_;
};

}  // namespace patchbay
